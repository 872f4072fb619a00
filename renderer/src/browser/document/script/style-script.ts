/** Asks Chromium which styles it knows. Like `script.ts`: an expression for the page. */

/** `questions` is the JSON of a list of `Question`. Returns the `StyleAnswer` (`lint/ignored.ts` of the template) and changes nothing. */
export function styleScript(questions: string): string {
  return `(${ASK})(${questions})`
}

const ASK = String.raw`(questions) => {
  const sheet = new CSSStyleSheet()
  const first = (css) => {
    try {
      sheet.replaceSync(css)
      return sheet.cssRules[0]
    } catch { return undefined }
  }
  const has = (css) => {
    const rule = first(css)
    return (rule?.style?.length ?? 0) > 0 || (rule?.cssRules?.length ?? 0) > 0
  }
  const around = { declaration: 'x{', page: '@page{', face: '@font-face{' }
  const isKnown = {
    selector: (name, value) => first(value + '{}') !== undefined,
    nested: (name, value) => has('x{' + value + '{}}'),
    rule: (name, value) => first('@' + name + ' ' + value) !== undefined,
    box: (name) => has('@page{@' + name + '{}}'),
    text: (name, value) => has('x{' + value + '}') || first(value) !== undefined,
  }
  // With attr() Chromium takes any value, and drops it once it knows the attribute.
  const bare = (name, value) => (name === 'content' ? value.replace(/\battr\([^()]*\)/gi, '"x"') : value)
  const isStyle = (kind, name, value) => has(around[kind] + name + ':' + bare(name, value) + '}')
  const refused = questions.flatMap(([kind, name, values], index) => {
    const known = isKnown[kind] ?? ((name, value) => isStyle(kind, name, value))
    if (values.some((value) => known(name, value))) return []
    if (around[kind] === undefined) return [{ index, isNameKnown: false, isUnitMissing: false }]
    const isUnitMissing = values.some((value) => /^[-+\d.\s]+$/.test(value) && isStyle(kind, name, value.replace(/[\d.]+/g, '$&px')))
    return [{ index, isNameKnown: isStyle(kind, name, 'initial') || isStyle(kind, name, 'x') || isStyle(kind, name, 'url(x)') || isStyle(kind, name, 'U+1'), isUnitMissing }]
  })
  const names = []
  if (refused.length > 0) for (const name in first('x{}').style) names.push(name.replace(/[A-Z]/g, (letter) => '-' + letter.toLowerCase()))
  return JSON.stringify({ refused, names: names.filter((name) => isStyle('declaration', name, 'initial')) })
}`
