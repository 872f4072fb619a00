/**
 * The part of `make check` that looks for known vulnerabilities. It fails on those of high and critical severity in what is deployed, but for
 * those that `accepted.ts` lists.
 * If the registry cannot be reached, it says so and passes. Each lockfile is checked once a day, and in CI each time.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../architecture/source-tree.ts'
import { ACCEPTED, toActOn } from './accepted.ts'
import { type AuditResult, audit } from './audit.ts'

const TIMEOUT_MS = 10_000
const CACHE = join(ROOT, 'node_modules/.cache/audit')

const lockfile = createHash('sha256')
  .update(readFileSync(join(ROOT, 'package-lock.json')))
  .digest('hex')
const today = new Date().toISOString().slice(0, 'yyyy-mm-dd'.length)
const file = join(CACHE, `${today}-${lockfile}.json`)
const result = known() ?? (await audit({ folder: ROOT, timeoutMs: TIMEOUT_MS }))
mkdirSync(CACHE, { recursive: true })
writeFileSync(file, JSON.stringify(result))

if ('reason' in result) process.stdout.write(`known vulnerabilities were not checked: ${result.reason}\n`)
else {
  const advisories = toActOn(result.advisories, { accepted: ACCEPTED, today })
  for (const { package: name, severity, title, url } of advisories) {
    process.stdout.write(`${severity}: ${name}: ${title} (${url})\n`)
  }
  if (advisories.length > 0) process.exitCode = 1
}

function known(): AuditResult | undefined {
  if (process.env['CI'] === 'true') return undefined
  try {
    // Written by this file.
    return JSON.parse(readFileSync(file, 'utf8')) as AuditResult
  } catch {
    return undefined
  }
}
