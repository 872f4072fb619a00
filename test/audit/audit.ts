/**
 * Known vulnerabilities of what the service runs on, by `npm audit` of the lockfile. A registry need not answer that: then it is said,
 * and nothing fails.
 */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

export interface Advisory {
  readonly package: string
  readonly severity: string
  readonly title: string
  readonly url: string
}

/** The result of an audit: all advisories, or why there was no audit. */
export type AuditResult = { readonly advisories: readonly Advisory[] } | { readonly reason: string }

export interface AuditOptions {
  /** Where `package.json` and `package-lock.json` are. */
  readonly folder: string
  /** npm's own if absent. */
  readonly registry?: string
  readonly timeoutMs: number
}

/** The one workspace that is not deployed: tests have dependencies of their own. */
const NOT_DEPLOYED = 'test'
const SEVERE = ['high', 'critical']
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024

/** Asks the registry for advisories of high and critical severity. Rejects only when there is no `package.json`. */
export async function audit({ folder, registry, timeoutMs }: AuditOptions): Promise<AuditResult> {
  const where = registry === undefined ? [] : [`--registry=${registry}`]
  const { workspaces: names }: { readonly workspaces: readonly string[] } = JSON.parse(
    await readFile(join(folder, 'package.json'), 'utf8'),
  )
  const workspaces = names.filter((name) => name !== NOT_DEPLOYED).map((name) => `--workspace=${name}`)
  const args = [
    'audit',
    '--json',
    '--omit=dev',
    '--fetch-retries=0',
    `--fetch-timeout=${timeoutMs}`,
    ...where,
    ...workspaces,
  ]
  const { promise, resolve } = Promise.withResolvers<string>()
  // It exits with 1 if it found something, and also if it could not check.
  execFile('npm', args, { cwd: folder, timeout: timeoutMs, maxBuffer: OUTPUT_BYTES_MAX }, (_error, output) =>
    resolve(output),
  )
  return resultOf(await promise)
}

export function resultOf(output: string): AuditResult {
  const report = parsed(output)
  if (!isObject(report)) return { reason: 'npm audit gave no answer' }
  const vulnerabilities = report['vulnerabilities']
  if (!isObject(vulnerabilities)) return { reason: reasonOf(report) }
  const found = Object.values(vulnerabilities).flatMap((each) =>
    isObject(each) && Array.isArray(each['via']) ? each['via'] : [],
  )
  const advisories = new Map<string, Advisory>()
  // A name is that of a dependency, which is reported by itself.
  for (const via of found) {
    if (!isObject(via) || !SEVERE.includes(text(via['severity']))) continue
    const advisory = {
      package: text(via['name']),
      severity: text(via['severity']),
      title: text(via['title']),
      url: text(via['url']),
    }
    advisories.set(`${advisory.package} ${advisory.url}`, advisory)
  }
  return { advisories: [...advisories.values()] }
}

function parsed(output: string): unknown {
  try {
    return JSON.parse(output)
  } catch {
    return undefined
  }
}

function reasonOf(report: Record<string, unknown>): string {
  const message = text(report['message'])
  return message === '' ? 'npm audit gave another answer than expected' : message
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
