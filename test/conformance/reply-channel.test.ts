import { memoryReplyChannel } from '@platen/adapters/memory/reply-channel.ts'
import { memoryHarness } from './harness.ts'
import { describeReplyChannel } from './reply-channel.suite.ts'

describeReplyChannel('memory', () => memoryHarness(memoryReplyChannel))
