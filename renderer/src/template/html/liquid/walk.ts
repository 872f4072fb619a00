/** Visits everything in a parsed Liquid source, in its order. Iterative: the depth of a source is its author's. */
import type { Template } from 'liquidjs'

/** The variables of the blocks around a place, the innermost first. */
export interface Scope<Value> {
  readonly name: string
  readonly value: Value
  readonly outer?: Scope<Value> | undefined
}

/** Calls `visit` for each tag and output. It returns the scope of what is inside of it. */
export function walkLiquid<Value>(
  templates: readonly Template[],
  visit: (template: Template, scope: Scope<Value> | undefined) => Scope<Value> | undefined,
): void {
  const rest: { readonly template: Template; readonly scope: Scope<Value> | undefined }[] = []
  const push = (inside: readonly Template[], scope: Scope<Value> | undefined) => {
    for (const template of inside.toReversed()) rest.push({ template, scope })
  }
  push(templates, undefined)
  for (let node = rest.pop(); node !== undefined; node = rest.pop()) {
    const { template, scope } = node
    push(childrenOf(template), visit(template, scope))
  }
}

function childrenOf(template: Template): readonly Template[] {
  const children = template.children?.(false, true)
  // It only waits for other files, and a template is one.
  for (let step = children?.next(); step !== undefined; step = children?.next())
    if (step.done === true) return step.value
  return []
}
