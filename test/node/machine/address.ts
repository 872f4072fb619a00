/** The addresses of a node in namespaces of its own. */

/** The pair of interfaces between this machine and the node. */
export const OUTSIDE = '10.78.0.1'
export const INSIDE = '10.78.0.2'
export const PREFIX = 30

/** The node's network of pods. */
export const PODS = '10.77.0.0/16'
/** Where pods reach the node and what runs beside it: the bridge between them. */
export const BRIDGE = '10.77.0.1'
export const CLUSTER_DOMAIN = 'cluster.local'

/** The control group of everything that the kubelet starts. */
export const CGROUP = 'platen-node'
