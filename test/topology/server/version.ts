/** What `make servers` builds: the one list for the build, the names in the cache, and the key under which CI may keep it. */
export const VERSIONS = {
  kafka: '4.1.1',
  /** What Kafka logs by; 1.7 is the line it is compiled against. */
  slf4j: '1.7.36',
  versitygw: '1.8.0',
  etcd: '3.6.6',
  /** Of the API server and of kubectl. The libraries they are built of have the same number, with 0 for the 1. */
  kubernetes: '1.34.4',
  helm: '4.3.1',
} as const
