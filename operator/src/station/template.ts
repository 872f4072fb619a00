/** What a Template needs before it is compiled; see `template-source.ts`. */
import type { TemplateResource } from '@platen/contract/resource.ts'
import type { Declared } from '../reconcile/declared.ts'
import type { Station } from '../reconcile/station.ts'
import type { TemplateSources } from './template-source.ts'

export function templateStation(sources: TemplateSources): Station {
  return {
    async prepare(declared, status, signal) {
      return { known: {}, ...(await sources.settle(templateIn(declared), status, signal)) }
    },
    isBehind: (declared) => sources.isBehind(templateIn(declared)),
    recall(declared, status) {
      sources.recall(templateIn(declared), status)
      // Whether its sources stand in the artifact store, no status tells.
      return undefined
    },
    forget(resource) {
      if (resource.kind === 'Template') sources.forget(resource)
    },
  }
}

function templateIn({ resource }: Declared): TemplateResource {
  if (resource.kind !== 'Template') throw new TypeError('this is the station of Templates')
  return resource
}
