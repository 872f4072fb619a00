/** Is this the long form, as of `make soak`? It repeats by chance what `make test` tries a few times. */
export const IS_LONG = process.env['LONG'] === '1'
