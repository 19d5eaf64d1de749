/** What every page has around it: the menu, who serves it, and whether it is still heard. */
import { useEffect } from 'preact/hooks'
import { about, connection } from '../live/live.ts'
import { pageAt, pages } from './pages.tsx'
import { location } from './route.ts'

export function App() {
  const found = pageAt(location.value.pathname)
  const title = found?.page.title ?? 'Not found'
  useEffect(() => {
    document.title = `${title} · Fairlead`
  }, [title])
  return (
    <>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href="/">
          Fairlead
        </a>
        <Menu current={found?.page.path} />
        <Connection />
      </header>
      <main id="content" tabIndex={-1}>
        <h1>{title}</h1>
        {found === undefined ? <p>There is no such page.</p> : found.page.view(found.rest)}
      </main>
    </>
  )
}

function Menu({ current }: { readonly current: string | undefined }) {
  const known = about.value
  const offered = pages.filter((page) => page.isDetail !== true && (known === undefined || page.isOffered(known)))
  return (
    <nav aria-label="Pages">
      <ul>
        {offered.map(({ path, title }) => (
          <li key={path}>
            <a href={path} aria-current={path === current ? 'page' : undefined}>
              {title}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}

const said = { connecting: 'Connecting', live: 'Live', lost: 'Connection lost, trying again', resting: 'Resting' }

function Connection() {
  const { nodeName, mode } = about.value ?? {}
  return (
    <p class="connection" data-state={connection.value}>
      <span>{[nodeName, mode].filter(Boolean).join(', ')}</span> <span role="status">{said[connection.value]}</span>
    </p>
  )
}
