/** A table of what is measured at each size, as documents have it. */
export function tableOf(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].map((text) => `${text}\n`).join('')
}

/** With three digits. */
export function rounded(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3)
}

/** `1,000`. */
export function grouped(value: number): string {
  return value.toLocaleString('en-US')
}
