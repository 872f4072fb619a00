/**
 * Checks a template before it is published. Its schema must be valid, its assets must be sound, and its sources must compile. A component
 * must fit the schema. With sample data, it must return a sound element tree, and Liquid must fill the HTML. Nothing is laid out or
 * printed, so neither react-pdf nor Chromium is needed.
 *
 * A hostile component can block its thread where no count of steps reaches it (`indexOf` on a length of a billion). So a check of a
 * tenant's template must run in a thread that can be terminated: `check` is a task of the render threads.
 */

import { ServiceError } from '@platen/contract/domain/error.ts'
import { FAILURE_MESSAGE_CHARS_MAX } from '@platen/contract/domain/limit.ts'
import type { RenderId } from '@platen/contract/domain/render-id.ts'
import type { Engine } from '@platen/contract/domain/render-options.ts'
import type { CheckFault, CheckRequest } from '@platen/contract/domain/template-check.ts'
import type { TemplateDigest, TemplateSource, TenantId } from '@platen/contract/domain/tenant.ts'
import { variablesSchemaFault } from '@platen/contract/schema/variable/variables-schema.ts'
import type { JsonObject } from '@platen/lib/brand.ts'
import type { RenderWork } from '../port/engine.ts'
import type { Families } from './asset/fonts.ts'
import { remoteImagesOf } from './asset/remote-images.ts'
import { keptImages, openImages } from './element/image.ts'
import { translate } from './elements.ts'
import { type Evaluate, openSandbox } from './evaluate.ts'
import { fillHtml, isRefusedValue, type ParsedSource, parseHtml } from './html/fill.ts'
import { ignoredStyles } from './html/lint/ignored.ts'
import { openLiquidCheck } from './html/liquid/faults.ts'
import { syntaxFaults } from './html/liquid/syntax.ts'
import { SANDBOX_CHECK_INTERRUPTS_MAX } from './limit.ts'
import { transpile } from './tsx/transpile.ts'
import type { CheckTypes } from './tsx/type-check.ts'

export type CheckTemplate = (check: CheckRequest) => Promise<readonly CheckFault[]>

/** Runs templates in the sandbox behind `evaluate`. The check throws only for a defect of the service. */
export function openTemplateCheck(evaluate: Evaluate): CheckTemplate {
  const typesOf = openTypes()
  return async (check) => {
    const misfit = schemaFault(check.variablesSchema)
    if (misfit !== undefined) return [{ message: misfit }]
    const engine = check.source.reactPdf === undefined ? 'html' : 'react_pdf'
    const faults = (await faultsOfAssets(check)).map((message) => ({ engine, message }) as const)
    // The sources need the assets, so they would only repeat these faults.
    if (faults.length > 0) return faults
    const found = check.source.reactPdf === undefined ? [] : await typesOf(check, check.source.reactPdf)
    const isSound = found.every(({ isWarning }) => isWarning === true)
    const filled = await faultsOf('html', () => checkHtml(check))
    return [
      ...found,
      ...(isSound ? await faultsOf('react_pdf', () => checkReactPdf(evaluate, check)) : []),
      ...filled,
      // Both checks find a fault in a literal.
      ...liquidFaults(check).filter(({ message }) => filled.every((fault) => fault.message !== message)),
      ...(await lintHtml(check)),
    ]
  }
}

/** The readers of images and fonts are loaded for the first template that has any. */
async function faultsOfAssets({ source, assets }: CheckRequest): Promise<readonly string[]> {
  if (assets.length === 0 && source.fonts === undefined) return []
  const { assetFaults } = await import('./asset/asset.ts')
  return await assetFaults(source, assets)
}

/** The compiler is loaded here, because only threads with such a check need it. */
function openTypes(): (check: CheckRequest, source: string) => Promise<readonly CheckFault[]> {
  let checkTypes: CheckTypes | undefined
  return async ({ source: { fonts }, variablesSchema, isWarned = false }, source) => {
    checkTypes ??= (await import('./tsx/type-check.ts')).openTypeCheck()
    // `schemaFault` has checked it.
    const schema = JSON.parse(variablesSchema) as JsonObject
    const found = checkTypes({ source, variablesSchema: schema, families: familiesOf(fonts), isWarned })
    return found.map(({ message, isWarning }) => ({
      engine: 'react_pdf',
      message: message.slice(0, FAILURE_MESSAGE_CHARS_MAX),
      ...(isWarning && { isWarning }),
    }))
  }
}

function familiesOf(fonts: TemplateSource['fonts']): Families {
  return new Map((fonts ?? []).map(({ family }) => [family, family]))
}

function schemaFault(text: string): string | undefined {
  // The type declares it as the JSON of an object.
  const schema = JSON.parse(text) as JsonObject
  return schema['type'] === 'object' ? variablesSchemaFault(schema) : 'needs type: object, because data is an object'
}

/** For many templates use `openTemplateCheck`. */
export async function checkTemplate(check: CheckRequest): Promise<readonly CheckFault[]> {
  return openTemplateCheck(await openSandbox())(check)
}

async function faultsOf(engine: Engine, check: () => unknown): Promise<readonly CheckFault[]> {
  try {
    await check()
    return []
  } catch (error) {
    if (error instanceof ServiceError) return [{ engine, message: error.message.slice(0, FAILURE_MESSAGE_CHARS_MAX) }]
    throw error
  }
}

async function checkReactPdf(evaluate: Evaluate, { source, assets, sampleData }: CheckRequest): Promise<void> {
  if (source.reactPdf === undefined) return
  const program = transpile(source.reactPdf)
  const { options } = source
  const interruptsMax = SANDBOX_CHECK_INTERRUPTS_MAX
  const { nodes, call } = await evaluate(program, { data: sampleData, options, locale: source.locale, interruptsMax })
  if (sampleData === undefined) return
  const families = familiesOf(source.fonts)
  // Only renders fetch files. Here stand-ins replace them.
  const image = openImages(assets, keptImages(), remoteImagesOf({ template: source }))
  translate(nodes, { template: source, options, call, find: program.find, families, isCheck: true, image })
}

/** Compares Liquid with the schema. A source that does not parse is reported where it is filled. */
function liquidFaults({ source, variablesSchema }: CheckRequest): readonly CheckFault[] {
  if (source.html === undefined) return []
  // `schemaFault` has checked it.
  const faultsIn = openLiquidCheck(JSON.parse(variablesSchema) as JsonObject)
  return parsedOf(source).flatMap(({ name, text, templates }) => {
    const misread = syntaxFaults(text)
    return (misread.length > 0 ? misread : faultsIn(templates)).map(({ position, message }) => ({
      engine: 'html' as const,
      message: `${name}:${position.join(':')}: ${message}`.slice(0, FAILURE_MESSAGE_CHARS_MAX),
    }))
  })
}

function parsedOf(source: TemplateSource): readonly ParsedSource[] {
  try {
    return parseHtml(source)
  } catch (error) {
    if (error instanceof ServiceError) return []
    throw error
  }
}

/**
 * Warns of styles, fonts and tags by a dictionary of CSS. A caller that can print asks Chromium, and shows these warnings only if that
 * fails.
 */
async function lintHtml({ source, isWarned = false }: CheckRequest): Promise<readonly CheckFault[]> {
  if (!isWarned || source.html === undefined) return []
  const [{ linted, lintSources }, { answerByDictionary }] = await Promise.all([
    import('./html/lint/lint.ts'),
    import('./html/lint/lexer.ts'),
  ])
  const { warnings, questions } = linted(lintSources(source), [])
  return [...warnings, ...ignoredStyles(questions, answerByDictionary(questions))].map(({ code, place, message }) => ({
    engine: 'html',
    message: (place === undefined ? message : `${place}: ${message}`).slice(0, FAILURE_MESSAGE_CHARS_MAX),
    isWarning: true,
    code,
  }))
}

function checkHtml({ source, assets, sampleData }: CheckRequest): void {
  if (source.html === undefined) return
  // Filling uses only the source, data and options of its work. There is no render here, so its ids are empty.
  const ids = { render: '' as RenderId, tenant: '' as TenantId, digest: '' as TemplateDigest }
  const data = new TextEncoder().encode(sampleData ?? '{}')
  const asked = { data, options: source.options, date: 0, javascriptEnabled: false, isSandbox: false }
  const work: RenderWork = { ...ids, ...asked, template: source, assets }
  try {
    fillHtml(work)
  } catch (error) {
    // Without sample data every value is absent, so a division by a value fails. Faults of the source itself are found without data.
    if (sampleData !== undefined || !isRefusedValue(error)) throw error
  }
}
