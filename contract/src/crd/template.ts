/** Made from `crds/template.yaml` by `npx vitest run test/crd.test.ts -u`; do not edit. */
import type { Json, JsonObject } from '../brand.ts'
import type { StatusCondition } from './plan.ts'

/** A text elsewhere. */
export interface ConfigMapReference {
  /** Name of the ConfigMap. */
  readonly name: string
  /** Which of its values. */
  readonly key: string
}

/** A text, or a reference to it; exactly one. */
export interface SourceSpec {
  /** The text itself. */
  readonly inline?: string
  /** Where it stands, in the namespace of this resource. */
  readonly configMapKeyRef?: ConfigMapReference
}

/** What requests call it, its sources, and what they are rendered with. */
export interface TemplateSpec {
  /** The tenant it belongs to, which must list the namespace of this resource. */
  readonly tenantRef: {
    /** Name of the Tenant. Cannot be changed. */
    readonly name: string
  }
  /** What requests name in template; one of a kind within the tenant, where the oldest wins. The name of the resource if absent. */
  readonly code?: string
  /** For people to read. The code if absent. */
  readonly name?: string
  /** Shown in the list of templates and in the PDF's metadata. May not go down. 1 if absent. */
  readonly version?: number
  /** Is it listed, and can it be rendered? True if absent. */
  readonly published?: boolean
  /** The engine where a request names none; one it has a source for. If absent, react_pdf, or html where that is all there is. */
  readonly engine?: 'react_pdf' | 'html'
  /** JSON Schema 2020-12 of a request's data, of type: object. Any object if absent. */
  readonly variablesSchema?: JsonObject
  /** What the engine react_pdf renders; this, html or both. */
  readonly reactPdf?: {
    /** A TSX module whose default export is a component of data and options. */
    readonly source: SourceSpec
  }
  /** What the engine html renders; this, reactPdf or both. */
  readonly html?: {
    /** Liquid and HTML of the document; the fields of data are its variables, and options beside them. */
    readonly template: SourceSpec
    /** Printed into the top margin of every page. */
    readonly header?: SourceSpec
    /** Printed into the bottom margin of every page. */
    readonly footer?: SourceSpec
    /** Does its page run JavaScript, where the plan allows it? False if absent. */
    readonly javascript?: boolean
  }
  /** What holds where a request's own options say nothing. */
  readonly options?: {
    /** A3, A4, A5, A6, LETTER, LEGAL or TABLOID, or width and height in points. What the source says if absent, else A4. */
    readonly page_size?: Json
    /** What the source says if absent, else portrait. */
    readonly orientation?: 'portrait' | 'landscape'
    /** Points or a length such as 12mm for all sides, or a mapping of sides. What the source says if absent. */
    readonly margin?: Json
  }
  /** Language tag such as pl-PL, by which Intl and the filters write where the source names none. If absent, en-US. */
  readonly locale?: string
  /** Images and fonts that the sources name as asset:logo.png; together at most 128 KiB inline, and 10 MiB in all. */
  readonly assets?: readonly {
    /** What the sources call it. */
    readonly name: string
    /** The bytes, in base64; this or configMapKeyRef. */
    readonly inline?: string
    /** Where it stands, in the namespace of this resource. */
    readonly configMapKeyRef?: ConfigMapReference
  }[]
  /** Fonts of the template's own, no two of the same family, weight and style. */
  readonly fonts?: readonly {
    /** What the sources call it. */
    readonly family: string
    /** How bold it is. 400 if absent. */
    readonly weight?: number
    /** Whether it is slanted. If absent, normal. */
    readonly style?: 'normal' | 'italic'
    /** Name of one of the assets. */
    readonly asset: string
  }[]
  /** What its renders may fetch. Nothing if absent. */
  readonly egress?: {
    /** The hosts whose images, fonts and style sheets its renders may show. */
    readonly allowedHosts?: readonly string[]
  }
  /** What the publish check fills the sources with, so that a fault shows before a caller meets it; it must fit variablesSchema. */
  readonly sampleData?: JsonObject
}

/** What the operator did about this template. */
export interface TemplateStatus {
  /** The generation of the spec that this status is about. */
  readonly observedGeneration?: number
  /** Lower-case hexadecimal SHA-256 of the sources, assets and settings in force. */
  readonly digest?: string
  /** The version in force. */
  readonly version?: number
  /** Ready, Accepted, SourceResolved, Compiled, EngineAllowed, Published, and Propagated, which is true when every API pod serves this generation. */
  readonly conditions?: readonly StatusCondition[]
}

/** What a spec is held against: as Kubernetes does, but for what its fields demand of each other. */
export const templateSpecSchema = {
  type: 'object',
  required: ['tenantRef'],
  additionalProperties: false,
  properties: {
    tenantRef: {
      type: 'object',
      required: ['name'],
      additionalProperties: false,
      properties: { name: { type: 'string', pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$', maxLength: 63 } },
    },
    code: { type: 'string', pattern: '^[a-z0-9]+([_-][a-z0-9]+)*$', maxLength: 128 },
    name: { type: 'string', minLength: 1, maxLength: 200 },
    version: { type: 'integer', minimum: 1, maximum: 9007199254740991 },
    published: { type: 'boolean' },
    engine: { type: 'string', enum: ['react_pdf', 'html'] },
    variablesSchema: { type: 'object' },
    reactPdf: {
      type: 'object',
      required: ['source'],
      additionalProperties: false,
      properties: {
        source: {
          type: 'object',
          minProperties: 1,
          maxProperties: 1,
          additionalProperties: false,
          properties: {
            inline: { type: 'string', minLength: 1, maxLength: 131072 },
            configMapKeyRef: {
              type: 'object',
              required: ['name', 'key'],
              additionalProperties: false,
              properties: {
                name: {
                  type: 'string',
                  pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
                  maxLength: 253,
                },
                key: { type: 'string', pattern: '^[-._a-zA-Z0-9]+$', maxLength: 253 },
              },
            },
          },
        },
      },
    },
    html: {
      type: 'object',
      required: ['template'],
      additionalProperties: false,
      properties: {
        template: {
          type: 'object',
          minProperties: 1,
          maxProperties: 1,
          additionalProperties: false,
          properties: {
            inline: { type: 'string', minLength: 1, maxLength: 131072 },
            configMapKeyRef: {
              type: 'object',
              required: ['name', 'key'],
              additionalProperties: false,
              properties: {
                name: {
                  type: 'string',
                  pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
                  maxLength: 253,
                },
                key: { type: 'string', pattern: '^[-._a-zA-Z0-9]+$', maxLength: 253 },
              },
            },
          },
        },
        header: {
          type: 'object',
          minProperties: 1,
          maxProperties: 1,
          additionalProperties: false,
          properties: {
            inline: { type: 'string', minLength: 1, maxLength: 131072 },
            configMapKeyRef: {
              type: 'object',
              required: ['name', 'key'],
              additionalProperties: false,
              properties: {
                name: {
                  type: 'string',
                  pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
                  maxLength: 253,
                },
                key: { type: 'string', pattern: '^[-._a-zA-Z0-9]+$', maxLength: 253 },
              },
            },
          },
        },
        footer: {
          type: 'object',
          minProperties: 1,
          maxProperties: 1,
          additionalProperties: false,
          properties: {
            inline: { type: 'string', minLength: 1, maxLength: 131072 },
            configMapKeyRef: {
              type: 'object',
              required: ['name', 'key'],
              additionalProperties: false,
              properties: {
                name: {
                  type: 'string',
                  pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
                  maxLength: 253,
                },
                key: { type: 'string', pattern: '^[-._a-zA-Z0-9]+$', maxLength: 253 },
              },
            },
          },
        },
        javascript: { type: 'boolean' },
      },
    },
    options: {
      type: 'object',
      additionalProperties: false,
      properties: { page_size: {}, orientation: { type: 'string', enum: ['portrait', 'landscape'] }, margin: {} },
    },
    locale: {
      type: 'string',
      pattern:
        '^([A-Za-z]{2,3}|[A-Za-z]{5,8})(-[A-Za-z]{4})?(-([A-Za-z]{2}|[0-9]{3}))?(-([A-Za-z0-9]{5,8}|[0-9][A-Za-z0-9]{3}))*(-[A-WYZa-wyz0-9](-[A-Za-z0-9]{2,8})+)*(-[xX](-[A-Za-z0-9]{1,8})+)?$',
      minLength: 2,
      maxLength: 35,
    },
    assets: {
      type: 'array',
      maxItems: 64,
      items: {
        type: 'object',
        required: ['name'],
        additionalProperties: false,
        properties: {
          name: { type: 'string', pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$', maxLength: 63 },
          inline: {
            type: 'string',
            pattern: '^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$',
            minLength: 4,
            maxLength: 131072,
          },
          configMapKeyRef: {
            type: 'object',
            required: ['name', 'key'],
            additionalProperties: false,
            properties: {
              name: {
                type: 'string',
                pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
                maxLength: 253,
              },
              key: { type: 'string', pattern: '^[-._a-zA-Z0-9]+$', maxLength: 253 },
            },
          },
        },
      },
    },
    fonts: {
      type: 'array',
      maxItems: 64,
      items: {
        type: 'object',
        required: ['family', 'asset'],
        additionalProperties: false,
        properties: {
          family: { type: 'string', minLength: 1, maxLength: 100 },
          weight: { type: 'integer', minimum: 1, maximum: 1000 },
          style: { type: 'string', enum: ['normal', 'italic'] },
          asset: { type: 'string', pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$', maxLength: 63 },
        },
      },
    },
    egress: {
      type: 'object',
      additionalProperties: false,
      properties: {
        allowedHosts: {
          type: 'array',
          maxItems: 32,
          uniqueItems: true,
          items: {
            type: 'string',
            pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
            maxLength: 253,
          },
        },
      },
    },
    sampleData: { type: 'object' },
  },
} as const
