/** Puts a text where it can be pasted from. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'

export function CopyButton({ text, what }: { readonly text: string; readonly what: string }) {
  const said = useSignal('')
  useEffect(() => {
    said.value = ''
  }, [said, text])
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      said.value = 'Copied'
    } catch {
      said.value = 'Select it and copy'
    }
  }
  return (
    <button type="button" class="button copy" onClick={() => void copy()}>
      <span role="status">{said.value === '' ? 'Copy' : said.value}</span>
      <span class="visually-hidden"> {what}</span>
    </button>
  )
}
