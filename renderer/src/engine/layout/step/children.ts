/** Steps of react-pdf that change few nodes or none, without their copies. Each of them copied the whole document. */

interface Node {
  readonly children: readonly unknown[]
}

/** A node whose children a step has replaced by these: itself if they are the same. */
export function withChildren<Each extends Node>(node: Each, children: readonly unknown[]): Each {
  return children.every((child, at) => child === node.children[at]) ? node : { ...node, children }
}

/** What `step` makes of each node. It needs no function of its own for that. */
export function mapped<Each, Result, Context>(
  nodes: readonly Each[],
  step: (node: Each, context: Context) => Result,
  context: Context,
): Result[] {
  const results: Result[] = []
  for (const node of nodes) results.push(step(node, context))
  return results
}
