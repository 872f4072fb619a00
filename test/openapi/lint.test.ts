/** The OpenAPI document, judged by the linters that are most used, each with the rules that it recommends. */
import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { ROOT, readText } from '../architecture/source-tree.ts'
import { aFolder } from '../fixture/lifetime.ts'
import { scriptOf } from './tool.ts'

const DOCUMENT = join(ROOT, 'api/openapi.json')

const LINTERS: readonly [string, (document: string) => Promise<readonly string[]>][] = [
  ['Redocly', redocly],
  ['Spectral', spectral],
]

test.for(LINTERS)('%s has no finding', async ([, lint]) => {
  expect(await lint(DOCUMENT)).toEqual([])
})

test.for(LINTERS)('%s finds what is missing', async ([, lint]) => {
  const file = join(aFolder(), 'openapi.json')
  await writeFile(file, readText('api/openapi.json').replace(/"operationId": "getUsage",/, ''))
  expect(await lint(file)).toEqual([expect.stringMatching(/operation-operationId/)])
})

async function redocly(document: string): Promise<readonly string[]> {
  const args = ['lint', document, '--config', join(import.meta.dirname, 'rule/redocly.yaml'), '--format', 'json']
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
  const { stdout } = await run(await scriptOf('@redocly/cli', 'redocly'), args, env)
  const { problems }: { problems: readonly { ruleId: string; message: string }[] } = JSON.parse(stdout)
  return problems.map(({ ruleId, message }) => `${ruleId}: ${message}`)
}

async function spectral(document: string): Promise<readonly string[]> {
  const report = join(aFolder(), 'report.json')
  const ruleset = join(import.meta.dirname, 'rule/spectral.yaml')
  const args = ['lint', document, '--ruleset', ruleset, '--format', 'json', '--output', report]
  await run(await scriptOf('@stoplight/spectral-cli', 'spectral'), args, process.env)
  const findings: readonly { code: string; message: string }[] = JSON.parse(await readFile(report, 'utf8'))
  return findings.map(({ code, message }) => `${code}: ${message}`)
}

/** Both exit with 1 if they have findings, and report them all the same. */
async function run(script: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<{ stdout: string }> {
  return await promisify(execFile)(process.execPath, [script, ...args], { env }).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 1 && 'stdout' in error)
      return { stdout: String(error.stdout) }
    throw error
  })
}
