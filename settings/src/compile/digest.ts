/** The content address of a template's source. */
import { canonicalJson, sha256 } from '@platen/contract/canonical-json.ts'
import type { TemplateDigest, TemplateSource } from '@platen/contract/tenant.ts'

export { canonicalJson, sha256 } from '@platen/contract/canonical-json.ts'

/** Lower-case hex SHA-256 of a template's source, as `canonicalJson` spells it: the bytes stored under `templateKey(digest)`. */
export function digestOf(source: TemplateSource): TemplateDigest {
  // Lower-case hex SHA-256 is what the type means.
  return sha256(canonicalJson(source)) as TemplateDigest
}
