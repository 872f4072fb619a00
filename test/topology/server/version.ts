/** What `make servers` builds: the one list for the build, the names in the cache, and the key under which CI may keep it. */
export const VERSIONS = {
  kafka: '4.1.1',
  /** What Kafka logs by; 1.7 is the line it is compiled against. */
  slf4j: '1.7.36',
  versitygw: '1.8.0',
  etcd: '3.6.6',
  /** Of the API server, of kubectl and of what makes a node. The libraries they are built of have the same number, with 0 for the 1. */
  kubernetes: '1.34.4',
  coredns: '1.15.0',
  helm: '4.3.1',
  /** The line before, which the chart is held against too. */
  helm3: '3.22.0',
  kubeScore: '1.20.0',
  // Of these the definitions of kinds alone.
  keda: '2.21.0',
  gatewayApi: '1.6.3',
  prometheusOperator: '0.85.0',
  /** Of Prometheus 3.16.0 and its promtool, as their Go module counts. */
  prometheus: '0.316.0',
} as const
