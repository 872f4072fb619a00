/** Versions that `make servers` builds. This list determines the build, the names in the cache, and the key of the CI cache. */
export const VERSIONS = {
  kafka: '4.1.1',
  /** The logging library of Kafka, which is compiled against version 1.7. */
  slf4j: '1.7.36',
  versitygw: '1.8.0',
  etcd: '3.6.6',
  /** Version of the API server, kubectl and the parts of a node. Their libraries have the same number with 0 instead of 1. */
  kubernetes: '1.34.4',
  coredns: '1.15.0',
  helm: '4.3.1',
  /** The previous major version. The chart is tested with it, too. */
  helm3: '3.22.0',
  kubeScore: '1.20.0',
  // Only the resource definitions of these are used.
  keda: '2.21.0',
  gatewayApi: '1.6.3',
  prometheusOperator: '0.85.0',
  /** This is Prometheus 3.16.0 with its promtool, in the numbering of their Go module. */
  prometheus: '0.316.0',
} as const
