/** What `make servers` builds: the one list for the build, the names in the cache, and the key under which CI may keep it. */
export const VERSIONS = {
  kafka: '4.1.1',
  /** What Kafka logs by; 1.7 is the line it is compiled against. */
  slf4j: '1.7.36',
  versitygw: '1.8.0',
} as const
