import type { TemplateDigest, TemplateSource } from '@platen/contract/domain/tenant.ts'
import { canonicalJson, sha256 } from '@platen/lib/canonical-json.ts'

export { canonicalJson, sha256 } from '@platen/lib/canonical-json.ts'

/** Lower-case hex SHA-256 of the canonical JSON. Those bytes are stored under `templateKey(digest)`. */
export function digestOf(source: TemplateSource): TemplateDigest {
  // `TemplateDigest` is defined as lower-case hex SHA-256.
  return sha256(canonicalJson(source)) as TemplateDigest
}
