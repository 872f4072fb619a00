/** Addresses of a node in its own namespaces. */

/** The two ends of the interface pair between this machine and the node. */
export const OUTSIDE = '10.78.0.1'
export const INSIDE = '10.78.0.2'
export const PREFIX = 30

export const PODS = '10.77.0.0/16'
/** The bridge, at which pods reach the node and the servers next to it. */
export const BRIDGE = '10.77.0.1'
export const CLUSTER_DOMAIN = 'cluster.local'

/** Control group of all processes that the kubelet starts. */
export const CGROUP = 'platen-node'
