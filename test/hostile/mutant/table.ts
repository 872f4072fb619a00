/**
 * Defences that a unit test holds, each with what is there without it. What a neighbour feels of those that are missing here
 * `neighbour/mutant.test.ts` sees; engines, receivers and links are shown bare beside their own corpus.
 */
import type { Mutant } from '../../chaos/cluster/rig/mutant.ts'

export interface UnitMutant extends Mutant {
  /** The test that has to fail, and its file. */
  readonly test: string
  readonly in: string
}

export const UNIT_MUTANTS: readonly UnitMutant[] = [
  {
    name: 'gives one tenant all slots for its sync renders',
    file: '/renderer/src/worker/sync-queue.ts',
    find: 'if (isLastSlot && running.has(tenant)) continue',
    replace: '',
    in: 'renderer/src/worker/sync-queue.test.ts',
    test: 'the last slot is for a tenant that has none in hand',
  },
  {
    name: 'gives one tenant all threads for its bodies',
    file: '/lib/src/fair-semaphore.ts',
    find: ' || queue.held >= permitsPerTenant',
    replace: '',
    in: 'lib/src/fair-semaphore.test.ts',
    test: 'as many as may begin at once, and as many of one tenant',
  },
  {
    name: 'gives one tenant all threads for its checks',
    file: '/renderer/src/engine/template-checker.ts',
    find: 'permitsPerTenant: 1',
    replace: 'permitsPerTenant: CHECKS_AT_ONCE',
    in: 'renderer/src/engine/template-checker.test.ts',
    test: 'a tenant whose templates hang has one thread, and others are checked meanwhile',
  },
  {
    name: 'checks templates of no tenant',
    file: '/operator/src/handler/template-source.ts',
    find: '!isSound(resource, status) && !this.#options.isAccepted(resource)',
    replace: 'false',
    in: 'operator/src/handler/template-source.test.ts',
    test: 'nothing is done for a template of no tenant, until it has one',
  },
  {
    name: 'takes a template of any depth',
    file: '/settings/src/compile/source.ts',
    find: 'isDeeperThan(resource.spec, JSON_DEPTH_MAX)',
    replace: 'false',
    in: 'settings/src/compile/template.test.ts',
    test: 'whose spec nests without end is refused by name, and costs no other anything',
  },
  {
    name: 'compiles no template where it has a defect in one',
    file: '/settings/src/compile/template.ts',
    find: "const message = `it could not be compiled: ${cause instanceof Error ? cause.message : 'it failed'}`",
    replace: 'throw cause',
    in: 'settings/src/compile/template.test.ts',
    test: 'in which the compiler has a defect says so, and affects no other',
  },
  {
    name: 'has a place for any number of keys',
    file: '/settings/src/compile/api-key.ts',
    find: 'if (allowed.size === max) break',
    replace: 'void max',
    in: 'settings/src/compile/api-key.test.ts',
    test: 'the oldest are in force, as many as apiKeysMax says, and of the same age those that come first by name',
  },
  {
    name: 'takes resources from namespaces that a tenant does not list',
    file: '/settings/src/compile/tenant.ts',
    find: 'outcome === undefined || !listsNamespaceOf(outcome, { metadata })',
    replace: 'outcome === undefined',
    in: 'settings/src/compilation/compile.test.ts',
    test: 'of a tenant that is not there opens nothing, nor does one whose namespace is not listed; nothing tells them apart',
  },
  {
    name: 'compiles a schema of any weight',
    file: '/contract/src/schema/variable/budget.ts',
    find: 'this.#sum > SCHEMA_WEIGHT_MAX',
    replace: 'false',
    in: 'test/fuzz/schema/costly.test.ts',
    test: 'properties up to the limit, and no further',
  },
  {
    name: 'refuses an address nothing, however often it was refused',
    file: '/api/src/traffic/throttle.ts',
    find: 'addresses.waitMs(name, 1) === 0',
    replace: 'true',
    in: 'api/src/traffic/throttle.test.ts',
    test: 'gets only 429 after so many refusals, and its connection is closed',
  },
  {
    name: 'has room for the bodies of any number of keys',
    file: '/api/src/body/body-budget.ts',
    find: 'if (all + more > BODIES_BYTES_MAX) throw full()',
    replace: '',
    in: 'api/src/body/body-budget.test.ts',
    test: 'all keys together have no more than the process has',
  },
  {
    name: 'takes the id of a render for that of any tenant',
    file: '/contract/src/domain/render-id.ts',
    find: 'timingSafeEqual(tag, tagOf(bytes, { kind, scope, key }))',
    replace: 'timingSafeEqual(tag, tag) || key',
    in: 'contract/src/domain/render-id.test.ts',
    test: 'is unknown to another tenant, to the other environment and to another key',
  },
  {
    name: 'repeats what a font has for each of its families',
    file: '/renderer/src/template/html/coverage.ts',
    find: 'font.characters.length <= charsLeft ? font.characters : EVERY_CHARACTER',
    replace: 'font.characters',
    in: 'renderer/src/template/html/coverage.test.ts',
    test: 'says of a font what it has once for all its families, and says no more than there is room for',
  },
  {
    name: 'gives a tenant the page of another',
    file: '/renderer/src/browser/pool.ts',
    find: 'usages.get(page)?.tenant === tenant && lifecycle.isUsable(page)',
    replace: 'lifecycle.isUsable(page) || tenant',
    in: 'renderer/src/browser/pool.test.ts',
    test: 'never gives a tenant the page of another',
  },
  {
    name: 'keeps a browser in which pages do not close',
    file: '/renderer/src/browser/pool.ts',
    find: "if (!(await page.close())) await retirement.discard(page.browser, 'a page did not close')",
    replace: 'await page.close()',
    in: 'renderer/src/browser/pool.test.ts',
    test: 'retires a browser in which a page does not close in time, and leaves it to those who are at work in it',
  },
  {
    name: 'calls the receivers of one tenant as often at once as it likes',
    file: '/events/src/webhook/fair-queue.ts',
    find: 'account.calls === 0 || isWithinShare(account)',
    replace: 'account.ready.size > 0',
    in: 'events/src/webhook/fair-queue.test.ts',
    test: 'are begun by one account so often at once, which leaves room for others',
  },
]
