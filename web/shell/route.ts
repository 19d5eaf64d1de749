/** Where the reader is. Every view has an address that can be shared. */
import { signal } from '@preact/signals'

export const location = signal(here())

function here(): URL {
  return new URL(globalThis.location.href)
}

export function go(to: string): void {
  history.pushState(null, '', to)
  location.value = here()
}

/** The same view with another question, e.g. while somebody types: no entry of its own in the history. */
export function replace(to: string): void {
  history.replaceState(null, '', to)
  location.value = here()
}

globalThis.addEventListener('popstate', () => (location.value = here()))

/** Follows links within the page without loading it again. */
document.addEventListener('click', (event) => {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
    return
  const link = event.target instanceof Element ? event.target.closest('a') : null
  if (link === null || link.target !== '' || link.hasAttribute('download') || !isOfThisPage(link)) return
  event.preventDefault()
  if (link.href !== globalThis.location.href) go(link.href)
})

function isOfThisPage({ origin, pathname, search, hash }: HTMLAnchorElement): boolean {
  const now = globalThis.location
  if (origin !== now.origin || pathname.startsWith('/debug/') || pathname.startsWith('/api/')) return false
  // The browser jumps within a view better than we could.
  return hash === '' || pathname !== now.pathname || search !== now.search
}
