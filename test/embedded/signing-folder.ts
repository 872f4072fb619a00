/** A followed folder with one tenant, and what tests look at of its webhook secret. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ROTATE_ANNOTATION } from '@platen/contract/domain/resource-spec.ts'
import type { Tenant, TenantId } from '@platen/contract/domain/tenant.ts'
import { signingSecretsOf } from '@platen/contract/domain/webhook-secret.ts'
import { KEY, PLAN, TENANT } from '../fixture/manifests.ts'
import { type Folder, makeFolder } from './followed-folder.ts'

/** A secret of the tenant's own. */
export const OWN = 'brought-along-0123456789'
/** The form of what the service makes. */
export const GENERATED = /^service_webhook_[0-9A-Za-z]{43}$/

const REFERENCE = 'webhookSecretRef: {namespace: team-acme, name: hook, key: signing}'
/** The tenant with a reference to the key `signing` of the Secret `hook`. */
export const REFERRING = TENANT.replace('spec: {', `spec: {${REFERENCE}, `)

/** The Secret `hook` with these fields. */
export function aSecret(fields: string): string {
  return `apiVersion: v1\nkind: Secret\nmetadata: {name: hook, namespace: team-acme}\n${fields}\n`
}

/** The Secret `hook` with this text under `signing`. */
export function aSecretOf(text: string): string {
  return aSecret(`stringData: {signing: ${JSON.stringify(text)}}`)
}

/** A tenant that asks for a rotation. */
export function rotatedAt(time: string, tenant = TENANT): string {
  return tenant.replace('name: acme', `name: acme, annotations: {${ROTATE_ANNOTATION}: "${time}"}`)
}

export type Service = Awaited<ReturnType<Folder['follow']>>

export type SigningFolder = Awaited<ReturnType<typeof makeSigningFolder>>

/** An empty folder. `file` has the secret of acme. */
export async function makeSigningFolder() {
  const folder = await makeFolder()
  const file = join(folder.dataDir, 'webhook-secrets/acme')
  const sealKey = async () => Buffer.from(await readFile(join(folder.dataDir, 'seal-key'), 'utf8'), 'base64url')
  /** What signs for a tenant, the current one first, so many hours from now. */
  const signingOf = async (tenant: Tenant | undefined, hours = 0): Promise<readonly string[]> =>
    (tenant && signingSecretsOf(tenant, [await sealKey()], Date.now() + hours * 3_600_000)?.all) ?? []
  const signing = (service: Service, hours = 0) => signingOf(tenantOf(service), hours)
  return {
    ...folder,
    file,
    sealKey,
    signingOf,
    signing,
    declare: (...documents: readonly string[]) => folder.write('all.yaml', [PLAN, ...documents, KEY].join('---\n')),
    inFile: async () => (await readFile(file, 'utf8')).trim(),
    async putInFile(text: string) {
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, text)
    },
    /** What a service that is started and stopped leaves in force. */
    async once() {
      await using service = await folder.follow()
      return await signing(service)
    },
  }
}

/** The tenant as it is published. */
export function tenantOf({ current }: Service): Tenant | undefined {
  return current().tenants.get('acme' as TenantId)
}
