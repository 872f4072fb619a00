/** Not shown: the person who started the process knows them, or they have their own place. */
const KNOWN = new Set(['time', 'level', 'msg', 'process', 'version', 'instance', 'err'])

/**
 * Returns a line of the log as text for a person at a terminal: `15:04:05 warn redis unavailable: connect ECONNREFUSED group=renderers`.
 * Shows only the message of an error; the stack is in the JSON. Control characters in values stay escaped, so that a value cannot move the
 * cursor.
 */
export function readableLine(line: string): string {
  const fields: { time: string; level: string; msg: string; err?: { message?: string } } & Record<string, unknown> =
    JSON.parse(line)
  const { time, level, msg, err } = fields
  const rest = Object.entries(fields).filter(([name]) => !KNOWN.has(name))
  const values = rest.map(
    ([name, value]) => ` ${name}=${typeof value === 'string' ? text(value) : JSON.stringify(value)}`,
  )
  const reason = err?.message === undefined ? '' : `: ${text(err.message)}`
  return `${time.slice(11, 19)} ${level} ${msg}${reason}${values.join('')}\n`
}

/** Escaped as in JSON, but without quotes. JSON escapes control characters below the space. */
function text(value: string): string {
  return JSON.stringify(value)
    .slice(1, -1)
    .replaceAll('\\"', '"')
    .replaceAll(/[\u007f-\u009f]/g, '')
}
