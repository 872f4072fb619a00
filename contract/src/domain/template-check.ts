/** The check before a template is published. */
import type { Engine } from './render-options.ts'
import type { Asset, TemplateSource } from './tenant.ts'
import type { WarningCode } from './warning.ts'

/** Asks whether the schema is valid, the sources compile, and they evaluate with the sample data. */
export interface CheckRequest {
  readonly source: TemplateSource
  /** With their bytes. */
  readonly assets: readonly Asset[]
  /** Both are JSON texts: passing a text to a thread is quick, while a megabyte of small values takes a fifth of a second. */
  readonly variablesSchema: string
  /** An object. Without it the component is loaded but not called, and Liquid is filled with an empty object. */
  readonly sampleData?: string
  /** Whether to report warnings. They are for authors, and refuse nothing. */
  readonly isWarned?: boolean
}

export interface CheckResult {
  readonly faults: readonly CheckFault[]
  /** Whether the check need not be repeated. */
  readonly isFinal: boolean
}

export interface TemplateChecker {
  /**
   * Resolves after the turn of the tenant has come. `request` may be a function that reads it then, so that waiting checks hold no sources.
   * Rejects only when `signal` aborts, or as reading the request does.
   */
  readonly check: (
    tenant: string,
    request: CheckRequest | ((signal: AbortSignal) => Promise<CheckRequest>),
    signal: AbortSignal,
  ) => Promise<CheckResult>
}

/** A fault, or a warning if the request wants them. */
export interface CheckFault {
  /** Absent = the fault is in the schema. */
  readonly engine?: Engine
  /** Begins with file, line and column if known: `template.tsx:12:5: …`. */
  readonly message: string
  /** A warning does not keep the template from being published. */
  readonly isWarning?: boolean
  /** Set if a render of the template has this warning, too. */
  readonly code?: WarningCode
}
