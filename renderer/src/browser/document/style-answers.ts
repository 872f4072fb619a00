/** Chromium's answers to questions about styles. They never change, so each is asked for once. */

import type { TenantId } from '@platen/contract/domain/tenant.ts'
import type { Warning } from '@platen/contract/domain/warning.ts'
import { openLruCache, tenantPart } from '@platen/lib/lru-cache.ts'
import { ignoredStyles, type StyleAnswer } from '../../template/html/lint/ignored.ts'

const KIB = 1024
const MIB = 1024 * KIB
/** Characters of the questions whose answers are kept: those of a few dozen templates. */
const STYLE_ANSWERS_CHARS_MAX = 2 * MIB

interface AskedStyles {
  /** The questions for Chromium. Absent if the answers are known. */
  readonly questions?: string
  /** Warnings for styles that Chromium does not know. `answer` is the one to `questions`. */
  warningsOf(answer: StyleAnswer | undefined): readonly Warning[]
}

interface Kept {
  readonly warnings: readonly Warning[]
  readonly chars: number
}

export function openStyleAnswers(): (tenant: TenantId, html: string, questions: string) => AskedStyles {
  const kept = openLruCache<Kept>(STYLE_ANSWERS_CHARS_MAX, ({ chars }) => chars)
  return (tenant, html, questions) => {
    if (questions === NONE) return { warningsOf: () => [] }
    const own = tenantPart(kept, tenant)
    // Without a doctype, Chromium accepts lengths without units.
    const key = `${/^\s*<!doctype/i.test(html)} ${questions}`
    const known = own.get(key)?.warnings
    if (known !== undefined) return { warningsOf: () => known }
    return {
      questions,
      warningsOf: (answer) =>
        answer === undefined
          ? []
          : own.set(key, { warnings: ignoredStyles(questions, answer), chars: key.length }).warnings,
    }
  }
}

const NONE = '[]'
