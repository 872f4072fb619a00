import { memoryDirectory } from '@platen/adapters/memory/directory.ts'
import { describeDirectory } from './directory.suite.ts'
import { memoryHarness } from './harness.ts'

describeDirectory('memory', () => memoryHarness(memoryDirectory))
