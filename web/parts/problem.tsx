/** Why something cannot be shown: what the server said. */
export function Problem({ text }: { readonly text: string }) {
  return (
    <p class="problem" role="alert">
      {sentence(text)}
    </p>
  )
}

function sentence(text: string): string {
  const first = text.charAt(0).toUpperCase() + text.slice(1)
  return /[.!?]$/.test(first) ? first : `${first}.`
}
