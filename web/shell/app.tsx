/** What every page has around it: the menu, who serves it, and whether it is still heard. */
import { useEffect, useRef } from 'preact/hooks'
import { about, connection, isOutdated } from '../live/live.ts'
import { followOverview } from '../live/overview.ts'
import { Help } from './help.tsx'
import { Login } from './login.tsx'
import { pageAt } from './pages.tsx'
import { location } from './route.ts'
import { Side } from './side.tsx'
import './frame.css'

export function App() {
  const { pathname } = location.value
  const found = pageAt(pathname, about.value)
  const isLogin = connection.value === 'login'
  const title = isLogin ? 'Log in' : (found?.page.heading?.(found.rest) ?? found?.page.title ?? 'Not found')
  useEffect(() => {
    document.title = `${title} · Fairlead`
  }, [title])
  useEffect(followOverview, [])
  const content = useFocusOnArrival(pathname)
  return (
    <>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <div class="frame">
        <Side current={found?.page.path} pathname={pathname} />
        <main id="content" tabIndex={-1} ref={content}>
          {isOutdated.value && <Outdated />}
          <h1>{title}</h1>
          {isLogin ? (
            <Login />
          ) : found === undefined ? (
            <p>
              There is no such page. Go to the <a href="/">first one</a>.
            </p>
          ) : (
            found.page.view(found.rest)
          )}
        </main>
      </div>
      <Help />
    </>
  )
}

/** Who comes to another page begins at its top, with the keyboard too. Not on the first one: the browser has done it. */
function useFocusOnArrival(pathname: string) {
  const content = useRef<HTMLElement>(null)
  const last = useRef(pathname)
  useEffect(() => {
    if (last.current === pathname) return
    last.current = pathname
    // A page may have chosen the place itself, such as the field for a search.
    if (content.current?.contains(document.activeElement) !== true) content.current?.focus({ preventScroll: true })
    scrollTo(0, 0)
  }, [pathname])
  return content
}

function Outdated() {
  return (
    <p class="outdated" role="status">
      Fairlead was updated. This page is still of the version before.
      <button class="button" type="button" onClick={() => globalThis.location.reload()}>
        Load it again
      </button>
    </p>
  )
}
