import type { TrafficLimits } from '@platen/contract/domain/limit.ts'

const KIB = 1024
const MIB = 1024 * KIB

/**
 * Refusals: 5/s cost a hundredth of a core, and a caller that is wrong more often does not read the answers. Requests: 100/s, which is 100
 * renders polled each second. Bytes: 10 MiB/s, the largest body each second.
 */
export const DEFAULT_TRAFFIC_LIMITS: TrafficLimits = {
  keyRefusals: 300,
  keyRequests: 6000,
  keyBytes: 600 * MIB,
  addressRefusals: 300,
  connections: 4096,
  trustedProxies: [],
}

/** Renders at once, per engine: more than the cores of most machines, and a bound for a mistyped number. */
export const SLOTS_MAX = 64

/** What a process that renders needs beside its slots: 150 MiB for itself, 300 for a browser without a page, and some for peaks. */
export const OWN_MEMORY_BYTES = 512 * MIB

/** What a slot may keep after a render, before its thread (384 MiB) or its browser (128 MiB for each page) is replaced. */
export const SLOT_MEMORY_BYTES = 512 * MIB

/** How often files of settings are read again. The kubelet brings a changed Secret to a pod within a minute or two. */
export const SETTING_FILES_READ_MS = 5000
