import type { TemplateResource } from '@platen/contract/domain/resource.ts'
import type { KindHandler } from '../reconcile/kind-handler.ts'
import type { ResourceView } from '../reconcile/resource-view.ts'
import type { TemplateSources } from './template-source.ts'

export function templateHandler(sources: TemplateSources): KindHandler {
  return {
    prepare: (view, status, signal) => sources.prepare(templateOf(view), status, signal),
    needsPreparing: (view) => sources.needsPreparing(templateOf(view)),
    restore(view, status) {
      sources.restore(templateOf(view), status)
      // No status says whether the sources are in the artifact store.
      return undefined
    },
    forget(resource) {
      if (resource.kind === 'Template') sources.forget(resource)
    },
  }
}

function templateOf({ resource }: ResourceView): TemplateResource {
  if (resource.kind !== 'Template') throw new TypeError('expected a Template')
  return resource
}
