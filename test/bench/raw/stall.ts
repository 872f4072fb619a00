/** Sleeps for a millisecond, again and again, and answers each message with how late it was woken at the latest since the one before. */
const SLEEP_MS = 1
/** After so many it looks for messages. */
const SLEEPS = 50

const never = new Int32Array(new SharedArrayBuffer(4))
let longestMs = 0

function watch(): void {
  for (let sleeps = 0; sleeps < SLEEPS; sleeps += 1) {
    const beganAt = performance.now()
    Atomics.wait(never, 0, 0, SLEEP_MS)
    longestMs = Math.max(longestMs, performance.now() - beganAt - SLEEP_MS)
  }
  setImmediate(watch)
}

process.once('disconnect', () => process.exit())
process.on('message', () => {
  process.send?.(longestMs)
  longestMs = 0
})
watch()
