/** Figures as tags of Liquid: `{% barcode invoice.ean, type: "ean13" %}` prints an `<svg>`. */
import { isJsonObject, type Json, type JsonObject } from '@platen/lib/brand.ts'
import { suggestion } from '@platen/lib/suggestion.ts'
import {
  type Context,
  type Emitter,
  evalToken,
  Hash,
  type Liquid,
  Tag,
  type TagToken,
  type TopLevelToken,
} from 'liquidjs'
import { FigureFault, figureSvg } from './figure.ts'
import { drawFigure, FIGURES, type FigureName } from './figures.ts'

/** Numbers are formatted for `locale`. */
export function registerFigures(liquid: Liquid, locale: string | undefined): void {
  for (const name of Object.keys(FIGURES))
    liquid.registerTag(FIGURES[name as FigureName].tag, tagOf(name as FigureName, locale))
}

function tagOf(name: FigureName, locale: string | undefined) {
  const { tag, properties, ...kind } = FIGURES[name]
  const first: string | undefined = 'first' in kind ? kind.first : undefined
  return class extends Tag {
    private readonly value
    private readonly named

    constructor(token: TagToken, remaining: TopLevelToken[], liquid: Liquid) {
      super(token, remaining, liquid)
      this.value = first === undefined ? undefined : this.tokenizer.readValue()
      this.named = new Hash(this.tokenizer)
      for (const property of Object.keys(this.named.hash)) {
        if (properties.has(property) && property !== first) continue
        throw new Error(`${tag} has no ${property}${suggestion(property, properties)}`)
      }
    }

    *render(context: Context, emitter: Emitter): Generator<unknown, void, unknown> {
      const value = this.value === undefined ? undefined : yield evalToken(this.value, context)
      const named = yield this.named.render(context)
      const values = { ...jsonObjectOf(named), ...(first !== undefined && { [first]: jsonOf(value) }) }
      emitter.write(figureSvg(drawFigure(name, values, locale)))
    }

    /** The values that the tag reads, for checks that do not fill the template. */
    *arguments() {
      if (this.value !== undefined) yield this.value
      for (const value of Object.values(this.named.hash)) if (value !== undefined) yield value
    }
  }
}

/** Liquid's values come from the data, are captured texts, or are its own objects, which no figure accepts. */
function jsonOf(value: unknown): Json {
  const isText = typeof value === 'object' && value !== null && 'toJSON' in value && typeof value.toJSON === 'function'
  return ((isText ? JSON.parse(JSON.stringify(value)) : value) ?? null) as Json
}

function jsonObjectOf(value: unknown): JsonObject {
  const json = jsonOf(value)
  if (!isJsonObject(json)) throw new FigureFault('the properties cannot be read')
  return Object.fromEntries(Object.entries(json).map(([name, each]) => [name, jsonOf(each)]))
}
