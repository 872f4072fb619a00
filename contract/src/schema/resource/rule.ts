/**
 * Rules between fields of a manifest, and between its old and new state. A cluster enforces the same in CEL; here the messages tell an
 * author what to do.
 */
import { cidrsOf, isWithin, parseCidr } from '@platen/lib/address.ts'
import { INSTANT_FORMAT, parseInstant } from '@platen/lib/instant.ts'
import { LANGUAGE_TAG } from '@platen/lib/intl.ts'
import { apiKeySpecDefaults } from '../../domain/crd/api-key.ts'
import { templateSpecDefaults } from '../../domain/crd/template.ts'
import type { ErrorDetail } from '../../domain/error.ts'
import { TEMPLATE_CODE_CHARS_MAX, TEMPLATE_SOURCE_BYTES_MAX } from '../../domain/limit.ts'
import type { ApiKeySpec, ResourceManifest, TemplateSpec, TenantSpec } from '../../domain/resource-spec.ts'
import { ROTATE_ANNOTATION, ROTATE_POINTER } from '../../domain/resource-spec.ts'
import { TEMPLATE_CODE_PATTERN } from '../render-request.ts'

/** `written` must have passed the schema of its kind. */
export function brokenRules(written: ResourceManifest): readonly ErrorDetail[] {
  switch (written.kind) {
    case 'Plan':
      return rule('/spec/htmlRateLimitPerMinute', 'needs htmlEngineEnabled: true', {
        isBroken: (written.spec.htmlRateLimitPerMinute ?? 0) > 0 && written.spec.htmlEngineEnabled !== true,
      })
    case 'Tenant':
      return [...annotationRules(written.metadata), ...tenantRules(written.spec)]
    case 'Template':
      return [...templateRules(written.metadata, written.spec), ...assetRules(written.spec), ...fontRules(written.spec)]
    case 'ApiKey':
      return rule('/spec', 'needs either secretName (to generate a key) or sha256 (to use a key of yours), not both', {
        isBroken: (written.spec.secretName === undefined) === (written.spec.sha256 === undefined),
      })
    case 'ConfigMap':
    case 'Secret':
      return []
  }
}

/** Both have the same kind and place. */
export function brokenChanges(before: ResourceManifest, after: ResourceManifest): readonly ErrorDetail[] {
  if (before.kind === 'Tenant' && after.kind === 'Tenant') return tenantChanges(before.spec, after.spec)
  if (before.kind === 'Template' && after.kind === 'Template') return templateChanges(before.spec, after.spec)
  if (before.kind === 'ApiKey' && after.kind === 'ApiKey') return apiKeyChanges(before.spec, after.spec)
  return []
}

/** An added account may be the one in force. `compile` knows that one, and refuses every other. */
function tenantChanges({ accountId: before }: TenantSpec, { accountId: after }: TenantSpec): readonly ErrorDetail[] {
  return before === undefined ? [] : unchanged('/spec/accountId', [before, after])
}

function templateChanges(before: TemplateSpec, after: TemplateSpec): readonly ErrorDetail[] {
  const { version: last = templateSpecDefaults.version } = before
  return [
    ...unchanged('/spec/tenantRef/name', [before.tenantRef.name, after.tenantRef.name]),
    ...rule('/spec/version', `cannot be decreased: it was ${last}`, {
      isBroken: (after.version ?? templateSpecDefaults.version) < last,
    }),
  ]
}

function apiKeyChanges(before: ApiKeySpec, after: ApiKeySpec): readonly ErrorDetail[] {
  return [
    ...unchanged('/spec/tenantRef/name', [before.tenantRef.name, after.tenantRef.name]),
    ...unchanged('/spec/environment', [environmentOf(before), environmentOf(after)]),
    ...unchanged('/spec/secretName', [before.secretName, after.secretName]),
    ...unchanged('/spec/sha256', [before.sha256, after.sha256]),
  ]
}

function environmentOf({ environment = apiKeySpecDefaults.environment }: ApiKeySpec) {
  return environment
}

function unchanged(path: string, [before, after]: readonly [unknown, unknown]): readonly ErrorDetail[] {
  return rule(path, 'cannot be changed: declare another resource and remove this one', { isBroken: before !== after })
}

function annotationRules({ annotations }: ResourceManifest['metadata']): readonly ErrorDetail[] {
  const text = annotations?.[ROTATE_ANNOTATION]
  return rule(ROTATE_POINTER, `must be ${INSTANT_FORMAT}`, {
    isBroken: text !== undefined && parseInstant(text) === undefined,
  })
}

function tenantRules({ webhooks }: TenantSpec): readonly ErrorDetail[] {
  return (webhooks?.allowCidrs ?? []).flatMap((cidr, at) =>
    rule(
      `/spec/webhooks/allowCidrs/${at}`,
      'must be the first address of a block and its prefix length, such as 10.0.0.0/8 or fd00::/8',
      {
        isBroken: !isBlock(cidr),
      },
    ),
  )
}

/** Refuses IPv4 blocks written as IPv6: connections are checked against IPv4 blocks, so these would allow nothing. */
function isBlock(text: string): boolean {
  const cidr = parseCidr(text)
  return cidr !== undefined && !isWithin(cidr.start, MAPPED_IPV4)
}

const MAPPED_IPV4 = cidrsOf(['::ffff:0:0/96'])

function templateRules({ name }: ResourceManifest['metadata'], spec: TemplateSpec): readonly ErrorDetail[] {
  const { code = name, engine = templateSpecDefaults.engine, reactPdf, html, locale } = spec
  return [
    ...rule('/spec', 'needs reactPdf, html or both', { isBroken: reactPdf === undefined && html === undefined }),
    ...rule('/spec/engine', 'must be Html, because the template has only an html source; the default is ReactPdf', {
      isBroken: reactPdf === undefined && html !== undefined && engine !== 'Html',
    }),
    ...rule('/spec/engine', 'must be ReactPdf, because the template has only a reactPdf source', {
      isBroken: reactPdf !== undefined && html === undefined && engine !== 'ReactPdf',
    }),
    ...rule('/spec/locale', LANGUAGE_TAG.fault, {
      isBroken: locale !== undefined && !LANGUAGE_TAG.isValid(locale),
    }),
    ...rule('/spec/code', 'is required, because metadata.name is not a valid template code', {
      isBroken: !new RegExp(TEMPLATE_CODE_PATTERN).test(code) || code.length > TEMPLATE_CODE_CHARS_MAX,
    }),
  ]
}

function assetRules({ assets = [] }: TemplateSpec): readonly ErrorDetail[] {
  const names = assets.map(({ name }) => name)
  const inlineBytes = assets.reduce((sum, { inline = '' }) => sum + inline.length, 0)
  return [
    ...assets.flatMap(({ name, inline, configMapKeyRef }, at) => [
      ...rule(`/spec/assets/${at}/name`, 'is the name of an asset before it', { isBroken: names.indexOf(name) < at }),
      ...rule(`/spec/assets/${at}`, 'needs either inline or configMapKeyRef, not both', {
        isBroken: (inline === undefined) === (configMapKeyRef === undefined),
      }),
    ]),
    ...rule(
      '/spec/assets',
      `must have at most ${TEMPLATE_SOURCE_BYTES_MAX} bytes inline in total: keep larger assets in a ConfigMap`,
      {
        isBroken: inlineBytes > TEMPLATE_SOURCE_BYTES_MAX,
      },
    ),
  ]
}

const DEFAULT_FACE = templateSpecDefaults.fonts

function fontRules({ assets = [], fonts = [] }: TemplateSpec): readonly ErrorDetail[] {
  const names = new Set(assets.map(({ name }) => name))
  const faces = fonts.map(
    ({ family, weight = DEFAULT_FACE.weight, style = DEFAULT_FACE.style }) => `${style} ${weight} ${family}`,
  )
  return fonts.flatMap(({ asset }, at) => [
    ...rule(`/spec/fonts/${at}/asset`, 'names none of the assets', { isBroken: !names.has(asset) }),
    ...rule(`/spec/fonts/${at}`, 'has the same family, weight and style as a font before it', {
      isBroken: faces.indexOf(faces[at] ?? '') < at,
    }),
  ])
}

function rule(path: string, message: string, { isBroken }: { isBroken: boolean }): readonly ErrorDetail[] {
  return isBroken ? [{ path, message }] : []
}
