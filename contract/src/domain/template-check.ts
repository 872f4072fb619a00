/** What is asked of the check before a template is published, and what it answers. */
import type { Engine } from './render-options.ts'
import type { Asset, TemplateSource } from './tenant.ts'
import type { WarningCode } from './warning.ts'

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

export interface CheckResult {
  readonly faults: readonly CheckFault[]
  /** Whether the answer is final, so that the check need not be repeated. */
  readonly isFinal: boolean
}

export interface TemplateChecker {
  /**
   * The result of the check, once the turn of the tenant has come. The request may be read then, so that those who wait hold no sources.
   * Rejects only when `signal` aborts, or as reading the request does.
   */
  readonly check: (
    tenant: string,
    request: CheckRequest | ((signal: AbortSignal) => Promise<CheckRequest>),
    signal: AbortSignal,
  ) => Promise<CheckResult>
}

/** A fault that the check found, or a warning where those are wanted. */
export interface CheckFault {
  /** The engine of the source; absent = the fault is in the schema. */
  readonly engine?: Engine
  /** Begins with file, line and column if they are known: `template.tsx:12:5: …`. */
  readonly message: string
  /** The template may be published nevertheless. */
  readonly isWarning?: boolean
  /** Of a warning that a render of the template has, too. */
  readonly code?: WarningCode
}
