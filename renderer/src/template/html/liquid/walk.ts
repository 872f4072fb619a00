/** Visits everything in a parsed Liquid source, in order. Iterative, because an author may nest to any depth. */
import type { Template } from 'liquidjs'

/** A variable of a block around a place. `outer` leads outwards. */
export interface Scope<Value> {
  readonly name: string
  readonly value: Value
  readonly outer?: Scope<Value> | undefined
}

/** `visit` returns the scope for the inside of a template. */
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
  // It would only wait for other files, and a template is one file.
  for (let step = children?.next(); step !== undefined; step = children?.next())
    if (step.done === true) return step.value
  return []
}
