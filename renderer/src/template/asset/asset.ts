/**
 * Checks a template's assets before it is published: each asset is what its name says, undamaged, and within its limits, and every font of
 * the template is a font file.
 */
import { ServiceError } from '@platen/contract/domain/error.ts'
import type { Asset, TemplateSource } from '@platen/contract/domain/tenant.ts'
import { inspectFont, unpackFont } from './font/font-file.ts'
import { checkImage } from './image.ts'
import { ASSET_KINDS, type AssetKind, collectionOf, isFontKind, kindOf, kindOfName } from './kind.ts'
import { checkScript, isScriptName } from './script.ts'

/** One sentence per fault, each naming its asset. */
export async function assetFaults(source: TemplateSource, assets: readonly Asset[]): Promise<readonly string[]> {
  const fonts = new Set((source.fonts ?? []).map(({ asset }) => asset))
  const isDrawn = (name: string) => source.reactPdf !== undefined && fonts.has(name)
  const ofAssets: string[] = []
  // One after the other, so that only one unpacked font is in memory.
  for (const asset of assets) ofAssets.push(...(await faultOf(asset, { isDrawn: isDrawn(asset.name) })))
  return [...ofAssets, ...(source.fonts ?? []).flatMap((font) => faultOfFont(font, assets))]
}

async function faultOf(asset: Asset, { isDrawn }: { isDrawn: boolean }): Promise<readonly string[]> {
  try {
    const unfit = await inspect(asset)
    return unfit !== undefined && isDrawn ? [`asset ${asset.name}: this is ${unfit}`] : []
  } catch (error) {
    if (error instanceof ServiceError) return [`asset ${asset.name}: ${error.message}`]
    throw error
  }
}

/** Throws `ServiceError` if no engine can use the asset. Returns why react_pdf cannot use it, if that is so. */
async function inspect({ name, bytes }: Asset): Promise<string | undefined> {
  if (isScriptName(name)) {
    checkScript(bytes)
    return undefined
  }
  const kind = kindOf(bytes)
  if (kind === undefined) {
    const collection = collectionOf(bytes)
    if (collection !== undefined) throw refusal(`this is ${collection}: extract one face and use that`)
    const known = Object.values(ASSET_KINDS).flatMap(({ extensions }) => extensions)
    throw refusal(
      `this is neither an image nor a font of a known kind (${known.join(', ')}), and no script by its name (js, mjs)`,
    )
  }
  const said = kindOfName(name)
  if (said !== undefined && said !== kind && !isSfnt(said, kind)) {
    const [extension] = ASSET_KINDS[kind].extensions
    throw refusal(
      `the name says ${ASSET_KINDS[said].name}, but this is ${ASSET_KINDS[kind].name}: call it .${extension}`,
    )
  }
  if (isFontKind(kind)) return inspectFont(await unpackFont(bytes, kind)).unfit
  checkImage(kind, Buffer.from(bytes))
  return undefined
}

/** An `.otf` file often has TrueType outlines. Every engine treats both kinds alike. */
function isSfnt(...kinds: readonly AssetKind[]): boolean {
  return kinds.every((kind) => kind === 'ttf' || kind === 'otf')
}

function faultOfFont(
  { family, asset: name }: NonNullable<TemplateSource['fonts']>[number],
  assets: readonly Asset[],
): readonly string[] {
  const asset = assets.find((candidate) => candidate.name === name)
  if (asset === undefined) return [`asset ${name}: there is no such asset, and the font ${family} names it`]
  if (isScriptName(name)) return [`asset ${name}: the font ${family} names it, but this is a script`]
  const kind = kindOf(asset.bytes)
  // An unknown file is reported as a separate fault.
  if (kind === undefined || isFontKind(kind)) return []
  return [`asset ${name}: the font ${family} names it, but this is ${ASSET_KINDS[kind].name}`]
}

function refusal(reason: string): ServiceError {
  return new ServiceError('asset_unavailable', reason)
}
