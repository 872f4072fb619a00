/** How messages name an element. Like `script.ts`: an expression for the page, on the prototypes. */
import { QUOTE_CHARS_MAX } from '../../limit.ts'

/** Returns the name of an element, as in `<td class="name"> “first words”`. An image is named by its alt text. */
export const NAME_OF = String.raw`(element) => {
  const own = (name) => Object.getOwnPropertyDescriptor(Node.prototype, name).get.call(element)
  const attribute = (name) => (Element.prototype.getAttribute.call(element, name) ?? '').trim().slice(0, ${QUOTE_CHARS_MAX / 2})
  const name = Object.getOwnPropertyDescriptor(Element.prototype, 'localName').get.call(element).slice(0, ${QUOTE_CHARS_MAX / 2})
  const given = ['class', 'alt'].map((key) => attribute(key) === '' ? '' : ' ' + key + '="' + attribute(key) + '"').join('')
  const text = own('textContent')?.trim().replace(/\s+/g, ' ').slice(0, 40) ?? ''
  return '<' + name + given + '>' + (text === '' ? '' : ' “' + text + '”')
}`
