import { expect, test } from 'vitest'
import { openMachineFactory, SANDBOX_MEMORY_KEPT_BYTES_MAX } from './machine.ts'

const makeMachine = await openMachineFactory()

test('a memory that is put back is what it was, byte for byte, whatever has happened in it', async () => {
  const machine = await makeMachine()
  const { context } = machine
  const empty = machine.copy()
  context.unwrapResult(context.evalCode("globalThis.kept = 'kept'.repeat(1000)"))
  const loaded = machine.copy(empty)
  for (let round = 0; round < 3; round += 1) {
    context.unwrapResult(
      context.evalCode("globalThis.secret = Array.from({ length: 50_000 }, (_, at) => 'secret ' + at)"),
    )
    expect(machine.copy(loaded).blocks.size).toBeGreaterThan(0)
    machine.restore(loaded)
    expect(machine.copy(loaded).blocks.size).toBe(0)
    expect(context.dump(context.unwrapResult(context.evalCode('typeof secret + kept.length')))).toBe('undefined4000')
  }
  machine.restore(empty)
  expect(machine.copy(empty).blocks.size).toBe(0)
  expect(context.dump(context.unwrapResult(context.evalCode('typeof kept')))).toBe('undefined')
})

test('an image holds what has changed since another, and no more', async () => {
  const machine = await makeMachine()
  const empty = machine.copy()
  machine.context.unwrapResult(machine.context.evalCode('globalThis.a = 1'))
  const { earlier, blocks } = machine.copy(empty)
  expect(earlier).toBe(empty)
  expect(blocks.size).toBeLessThan(empty.blocks.size)
})

test('a memory that has grown far is given up', async () => {
  const machine = await makeMachine()
  expect(machine.isOutgrown()).toBe(false)
  const length = SANDBOX_MEMORY_KEPT_BYTES_MAX
  machine.context.unwrapResult(machine.context.evalCode(`globalThis.a = new Uint8Array(${length})`))
  expect(machine.isOutgrown()).toBe(true)
})

test('code is stopped after so many interrupts, and then others run again', async () => {
  const machine = await makeMachine()
  machine.limitInterrupts(10)
  expect(machine.context.evalCode('for (;;);').error).toBeDefined()
  machine.limitInterrupts(undefined)
  expect(machine.context.evalCode('for (let round = 0; round < 1_000_000; round += 1);').error).toBeUndefined()
})
