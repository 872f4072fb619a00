/** Made from `crds/template.yaml` by `npx vitest run test/crd.test.ts -u`; do not edit. */
import type { Json, JsonObject } from '@platen/lib/brand.ts'
import type { StatusCondition } from './plan.ts'

/** A key of a ConfigMap. */
export interface ConfigMapReference {
  /** Name of the ConfigMap. */
  readonly name: string
  /** Key of the value. */
  readonly key: string
}

/** A text, or a reference to it. Exactly one of them. */
export interface SourceSpec {
  /** The source text. */
  readonly inline?: string
  /** A key of a ConfigMap in the namespace of this resource. */
  readonly configMapKeyRef?: ConfigMapReference
}

/** The code of the template, its sources and its settings. */
export interface TemplateSpec {
  /** The tenant that this resource belongs to. The tenant must list the namespace of this resource. */
  readonly tenantRef: {
    /** Name of the Tenant. Cannot be changed. */
    readonly name: string
  }
  /** The code that requests give in template. Unique within the tenant; if several have the same code, the oldest wins. Default is the name of the resource. */
  readonly code?: string
  /** Name of the template for people, in the list of templates. Default is the code. */
  readonly displayName?: string
  /** Version in the list of templates and in the PDF's metadata. Cannot be decreased. Default is 1. */
  readonly version?: number
  /** False takes the template out of the list and refuses renders of it. Default is true. */
  readonly published?: boolean
  /** The engine for requests that name none. The template must have a source for it. Default is ReactPdf. */
  readonly engine?: 'ReactPdf' | 'Html'
  /** JSON Schema 2020-12 of the data of a request, with type: object. If absent, any object is accepted. */
  readonly variablesSchema?: JsonObject
  /** Source for the engine react_pdf. A template has reactPdf, html or both. */
  readonly reactPdf?: {
    /** A TSX module whose default export is a component with the props data and options. */
    readonly source: SourceSpec
  }
  /** Source for the engine html. A template has reactPdf, html or both. */
  readonly html?: {
    /** Liquid and HTML of the document. Its variables are the fields of data, and options. */
    readonly template: SourceSpec
    /** Text that is printed into the top margin of every page. */
    readonly header?: SourceSpec
    /** Text that is printed into the bottom margin of every page. */
    readonly footer?: SourceSpec
    /** True runs JavaScript in the page, if the plan allows it. Default is false. */
    readonly javascriptEnabled?: boolean
  }
  /** True fails renders whose document has a warning, with document_warnings. The plan and a request may be strict by themselves. Default is false. */
  readonly strict?: boolean
  /** Defaults for the options of a request. */
  readonly options?: {
    /** A named size (A3, A4, A5, A6, Letter, Legal, Tabloid), or width and height in points. Default is the size in the source, else A4. */
    readonly pageSize?: Json
    /** Orientation of the pages. Default is the orientation in the source, else Portrait. */
    readonly orientation?: 'Portrait' | 'Landscape'
    /** Margins of the pages: points or a length such as 12mm for all sides, or a mapping of sides. Default is the margin in the source. */
    readonly margin?: Json
  }
  /** Language tag such as pl-PL that Intl and the filters use if the source names none. Default is en-US. */
  readonly locale?: string
  /** Images, fonts and scripts that the sources name as asset:logo.png. At most 128 KiB inline and 10 MiB in total. */
  readonly assets?: readonly {
    /** The name that the sources use. */
    readonly name: string
    /** The bytes in base64. Set either inline or configMapKeyRef. */
    readonly inline?: string
    /** A key of a ConfigMap in the namespace of this resource. */
    readonly configMapKeyRef?: ConfigMapReference
  }[]
  /** Fonts of the template. No two have the same family, weight and style. */
  readonly fonts?: readonly {
    /** The name that the sources use. */
    readonly family: string
    /** Weight of the font. Default is 400. */
    readonly weight?: number
    /** Style of the font. Default is Normal. */
    readonly style?: 'Normal' | 'Italic'
    /** Name of one of the assets. */
    readonly asset: string
  }[]
  /** Access of the template's renders to other hosts. If absent, they fetch nothing. */
  readonly egress?: {
    /** The hosts whose images, fonts, style sheets and scripts renders of the template can use. */
    readonly allowedHosts?: readonly string[]
  }
  /** Data with which the publish check evaluates the sources, so that faults are found before a caller meets them. It must conform to variablesSchema. */
  readonly sampleData?: JsonObject
}

/** State of this template, written by the operator. */
export interface TemplateStatus {
  /** The generation of the spec that this status describes. It is -1 until the operator has seen the resource. */
  readonly observedGeneration?: number
  /** The code that requests give in template. */
  readonly code?: string
  /** The engine for requests that name none. */
  readonly engine?: 'ReactPdf' | 'Html'
  /** Lower-case hexadecimal SHA-256 of the sources, assets and settings in force. */
  readonly digest?: string
  /** The version in force. */
  readonly version?: number
  /** Conditions of the resource. These are Ready, Accepted, SourceResolved, Compiled, EngineAllowed, Published and Propagated, and Reconciling or Stalled while the resource is not as declared. Propagated is True when every connected API process serves this generation. */
  readonly conditions?: readonly StatusCondition[]
}

/** Validates a spec as Kubernetes does, except for rules between its fields. */
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
    displayName: { type: 'string', minLength: 1, maxLength: 200 },
    version: { type: 'integer', minimum: 1, maximum: 9007199254740991 },
    published: { type: 'boolean' },
    engine: { type: 'string', enum: ['ReactPdf', 'Html'] },
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
        javascriptEnabled: { type: 'boolean' },
      },
    },
    strict: { type: 'boolean' },
    options: {
      type: 'object',
      additionalProperties: false,
      properties: { pageSize: {}, orientation: { type: 'string', enum: ['Portrait', 'Landscape'] }, margin: {} },
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
          style: { type: 'string', enum: ['Normal', 'Italic'] },
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

/** The default of each field that has one. Kubernetes fills them in; everybody else takes them from here. */
export const templateSpecDefaults = {
  version: 1,
  published: true,
  engine: 'ReactPdf',
  html: { javascriptEnabled: false },
  locale: 'en-US',
  fonts: { weight: 400, style: 'Normal' },
} as const
