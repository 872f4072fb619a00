/** Sources and assets of a template, inline or from ConfigMaps. */

import { templateSpecDefaults } from '@platen/contract/domain/crd/template.ts'
import { JSON_DEPTH_MAX, TEMPLATE_SOURCE_BYTES_MAX } from '@platen/contract/domain/limit.ts'
import { renderOptionsOf } from '@platen/contract/domain/render-options.ts'
import type { TemplateResource } from '@platen/contract/domain/resource.ts'
import type { SourceSpec } from '@platen/contract/domain/resource-spec.ts'
import { FONT_STYLE_VALUES } from '@platen/contract/domain/resource-value.ts'
import type { Asset, AssetDigest, TemplateCode, TemplateSource } from '@platen/contract/domain/tenant.ts'
import { isDeeperThan } from '@platen/lib/json-depth.ts'
import { type Finding, fails } from './condition.ts'
import { sha256 } from './digest.ts'

const DEFAULTS = templateSpecDefaults
const KIB = 1024
const MIB = 1024 * KIB

/** All assets of one template, which a renderer caches for each template it serves. */
export const ASSETS_BYTES_MAX = 10 * MIB

/** By `namespace/name`; `binaryData` is base64. */
export type ConfigMaps = ReadonlyMap<string, ConfigMapContent>

export interface ConfigMapContent {
  readonly data?: Readonly<Record<string, string>>
  readonly binaryData?: Readonly<Record<string, string>>
}

/** The ConfigMaps that a template refers to, as `namespace/name`, with the keys that it names. */
export function configMapKeysOf({ metadata, spec }: TemplateResource): ReadonlyMap<string, ReadonlySet<string>> {
  const { reactPdf, html, assets = [] } = spec
  const sources = [reactPdf?.source, html?.template, html?.header, html?.footer, ...assets]
  const refs = Map.groupBy(
    sources.flatMap((source) => source?.configMapKeyRef ?? []),
    ({ name }) => `${metadata.namespace}/${name}`,
  )
  return new Map([...refs].map(([name, named]) => [name, new Set(named.map(({ key }) => key))]))
}

export interface ResolvedSource {
  readonly source: TemplateSource
  readonly assets: readonly Asset[]
}

/** Refuses the first source or asset that is missing, empty or too large, and a spec too deep for recursion. */
export function resolveSource(
  resource: TemplateResource,
  configMaps: ConfigMaps,
): ResolvedSource | { readonly refusal: Finding } {
  // The API server accepts a schema and sample data of any depth.
  if (isDeeperThan(resource.spec, JSON_DEPTH_MAX))
    return {
      refusal: fails('SourceResolved', 'NestedTooDeep', `the spec nests more than ${JSON_DEPTH_MAX} levels deep`),
    }
  const { reactPdf, html, options = {}, locale } = resource.spec
  const wanted = { reactPdf: reactPdf?.source, template: html?.template, header: html?.header, footer: html?.footer }
  const texts: { [Name in keyof typeof wanted]?: string } = {}
  for (const part of ['reactPdf', 'template', 'header', 'footer'] as const) {
    const spec = wanted[part]
    if (spec === undefined) continue
    const text = readSource(spec, { part, namespace: resource.metadata.namespace, configMaps })
    if (typeof text !== 'string') return { refusal: text }
    texts[part] = text
  }
  const { reactPdf: tsx, template, ...edges } = texts
  const assets = resolveAssets(resource, configMaps)
  if ('refusal' in assets) return assets
  // Sorted, because equal sets must have equal digests.
  const allowedHosts = (resource.spec.egress?.allowedHosts ?? []).toSorted()
  const fonts = (resource.spec.fonts ?? []).map(
    ({ family, weight = DEFAULTS.fonts.weight, style = DEFAULTS.fonts.style, asset }) => ({
      family,
      weight,
      style: FONT_STYLE_VALUES[style],
      asset,
    }),
  )
  return {
    assets,
    source: {
      ...titleOf(resource),
      ...(tsx !== undefined && { reactPdf: tsx }),
      ...(template !== undefined && {
        html: { template, ...edges, javascript: html?.javascriptEnabled ?? DEFAULTS.html.javascriptEnabled },
      }),
      options: renderOptionsOf(options),
      // Absent means the same, and equal templates must have equal digests.
      ...(locale !== undefined && locale !== DEFAULTS.locale && { locale }),
      ...(assets.length > 0 && { assets: assets.map((asset) => ({ name: asset.name, digest: asset.digest })) }),
      ...(fonts.length > 0 && { fonts }),
      ...(allowedHosts.length > 0 && { allowedHosts }),
    },
  }
}

function readSource(
  { inline, configMapKeyRef: ref }: SourceSpec,
  { part, namespace, configMaps }: { part: string; namespace: string; configMaps: ConfigMaps },
): string | Finding {
  const refuse = (reason: Finding['reason'], message: string) => fails('SourceResolved', reason, message)
  const configMap = ref === undefined ? undefined : configMaps.get(`${namespace}/${ref.name}`)
  if (ref !== undefined && configMap === undefined)
    return refuse('ConfigMapNotFound', `there is no ConfigMap ${namespace}/${ref.name}`)
  const texts = configMap?.data ?? {}
  const hasKey = ref === undefined || Object.hasOwn(texts, ref.key)
  const text = ref === undefined ? inline : texts[ref.key]
  if (!hasKey || text === undefined)
    return refuse('KeyNotFound', `ConfigMap ${namespace}/${ref?.name} has no key ${ref?.key}`)
  if (text.trim() === '') return refuse('SourceEmpty', `the source of ${part} is empty`)
  const bytes = Buffer.byteLength(text)
  if (bytes > TEMPLATE_SOURCE_BYTES_MAX)
    return refuse(
      'SourceTooLarge',
      `the source of ${part} has ${bytes} bytes; at most ${TEMPLATE_SOURCE_BYTES_MAX} are allowed`,
    )
  return text
}

function resolveAssets(
  { metadata, spec }: TemplateResource,
  configMaps: ConfigMaps,
): readonly Asset[] | { readonly refusal: Finding } {
  const refuse = (reason: Finding['reason'], message: string) => ({ refusal: fails('SourceResolved', reason, message) })
  const assets: Asset[] = []
  let bytesInAll = 0
  for (const { name, inline, configMapKeyRef: ref } of spec.assets ?? []) {
    const configMap = ref === undefined ? undefined : configMaps.get(`${metadata.namespace}/${ref.name}`)
    if (ref !== undefined && configMap === undefined)
      return refuse('ConfigMapNotFound', `asset ${name}: there is no ConfigMap ${metadata.namespace}/${ref.name}`)
    const bytes = inline === undefined ? bytesIn(configMap, ref?.key ?? '') : Buffer.from(inline, 'base64')
    if (bytes === undefined)
      return refuse('KeyNotFound', `asset ${name}: ConfigMap ${metadata.namespace}/${ref?.name} has no key ${ref?.key}`)
    bytesInAll += bytes.byteLength
    // `AssetDigest` is defined as lower-case hex SHA-256.
    assets.push({ name, bytes, digest: sha256(bytes) as AssetDigest })
  }
  return bytesInAll > ASSETS_BYTES_MAX
    ? refuse('AssetsTooLarge', `the assets have ${bytesInAll} bytes; at most ${ASSETS_BYTES_MAX} are allowed`)
    : assets
}

function bytesIn({ data = {}, binaryData = {} }: ConfigMapContent = {}, key: string): Uint8Array | undefined {
  const [text, base64] = [data, binaryData].map((values) => (Object.hasOwn(values, key) ? values[key] : undefined))
  if (base64 !== undefined) return Buffer.from(base64, 'base64')
  return text === undefined ? undefined : Buffer.from(text)
}

export function titleOf(resource: TemplateResource): Pick<TemplateSource, 'code' | 'name' | 'version'> {
  const code = codeOf(resource)
  const { displayName = code, version = DEFAULTS.version } = resource.spec
  return { code, name: displayName, version }
}

/** The `template` field of the API. */
export function codeOf({ metadata, spec }: TemplateResource): TemplateCode {
  // Both spellings match the pattern of codes.
  return (spec.code ?? metadata.name) as TemplateCode
}
