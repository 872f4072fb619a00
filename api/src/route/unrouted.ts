import { ServiceError } from '@platen/contract/domain/error.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'

/** A live view: routes registered later appear in it. */
export function methodsByRoute(app: FastifyInstance): ReadonlyMap<string, ReadonlySet<string>> {
  const methods = new Map<string, ReadonlySet<string>>()
  app.addHook('onRoute', ({ url, method }) => {
    methods.set(url, new Set(methods.get(url)).union(new Set([method].flat())))
  })
  return methods
}

/** `METHOD_NOT_ALLOWED` with `Allow` if the path has other methods, else `NOT_FOUND`. */
export function unrouted(request: FastifyRequest, methods: ReadonlyMap<string, ReadonlySet<string>>): ServiceError {
  const [path = ''] = request.url.split('?')
  const allowed = [...methods].find(([pattern]) => matches(pattern, path))?.[1]
  if (allowed === undefined) return new ServiceError('NOT_FOUND', 'There is no such route.')
  const allow = [...allowed].join(', ')
  return new ServiceError('METHOD_NOT_ALLOWED', `This path allows ${allow}.`, { headers: { allow } })
}

function matches(pattern: string, path: string): boolean {
  const names = pattern.split('/')
  const parts = path.replace(/\/$/, '').split('/')
  const isOpen = names.at(-1) === '*'
  const isLong = isOpen ? parts.length >= names.length : parts.length === names.length
  return isLong && names.every((name, at) => name === parts[at] || name.startsWith(':') || name === '*')
}
