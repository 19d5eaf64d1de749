/** One line of rules in colours. The colours only help; the text is as it was. */
import { markMatches } from './matches.ts'
import { tokenize } from './tokenize.ts'
import './code.css'

export function CodeLine({ text, query = '' }: { readonly text: string; readonly query?: string }) {
  return (
    <>
      {markMatches(tokenize(text), query).map(({ kind, text: piece, isMatch }, index) =>
        isMatch ? (
          <mark key={index}>{piece}</mark>
        ) : kind === 'plain' ? (
          piece
        ) : (
          <span key={index} class={`code-${kind}`}>
            {piece}
          </span>
        ),
      )}
    </>
  )
}
