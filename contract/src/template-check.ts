/** What is asked of the check before a template is published, and what it answers. */
import type { Engine } from './render-options.ts'
import type { Asset, TemplateSource } from './tenant.ts'

/** The input of a check: is the schema valid, do the sources compile, and do they evaluate with the sample data? */
export interface CheckRequest {
  readonly source: TemplateSource
  /** The assets of the source, with their bytes. */
  readonly assets: readonly Asset[]
  /** Both as JSON. Passing a text to a thread is quick; a megabyte of small values takes a fifth of a second. */
  readonly variablesSchema: string
  /** An object. Without it the component is loaded but not called, and Liquid is filled with an empty object. */
  readonly sampleData?: string
  /** Whether warnings are wanted. They are for authors, and refuse nothing. */
  readonly isWarned?: boolean
}

/** A fault that the check found, or a warning where those are wanted. */
export interface CheckFault {
  /** The engine of the source; absent = the fault is in the schema. */
  readonly engine?: Engine
  /** Begins with file, line and column if they are known: `template.tsx:12:5: …`. */
  readonly message: string
  /** The template may be published nevertheless. */
  readonly isWarning?: boolean
}
