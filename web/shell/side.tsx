/** The menu: beside the content, or above it on a narrow screen, where it opens on demand. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { about, connection } from '../live/live.ts'
import { overview } from '../live/overview.ts'
import { familyName } from '../parts/family-name.ts'
import { Icon } from '../parts/icon.tsx'
import { Connection } from './connection.tsx'
import { isHelpOpen } from './keyboard.ts'
import { pages } from './pages.tsx'
import { nextTheme, theme } from './theme.ts'

interface SideProps {
  readonly current: string | undefined
  readonly pathname: string
}

export function Side({ current, pathname }: SideProps) {
  const isOpen = useSignal(false)
  useEffect(() => {
    isOpen.value = false
  }, [isOpen, pathname])
  return (
    <header
      class="side"
      data-open={isOpen.value ? '' : undefined}
      onKeyDown={({ key }) => key === 'Escape' && (isOpen.value = false)}
    >
      <a class="brand" href="/">
        <Mark />
        Fairlead
      </a>
      <Connection />
      <button
        class="button plain menu-button"
        type="button"
        aria-expanded={isOpen.value}
        aria-controls="menu"
        onClick={() => (isOpen.value = !isOpen.value)}
      >
        <Icon name={isOpen.value ? 'close' : 'menu'} />
        <span class="visually-hidden">Menu</span>
      </button>
      <div class="side-rest" id="menu">
        <Who />
        {connection.value !== 'login' && <Menu current={current} pathname={pathname} />}
        <Tools />
      </div>
    </header>
  )
}

function Who() {
  const known = about.value
  if (known === undefined) return <div class="who" />
  const { kind, nodeName, mode, families, isDemo, version } = known
  const what = [mode, ...families.map(familyName)].filter(Boolean).join(' · ')
  return (
    <div class="who">
      <p class="who-name breaks">{nodeName ?? (kind === 'core' ? 'Core' : 'This node')}</p>
      <p class="quiet small">{isDemo ? `Demo · ${what}` : what}</p>
      <p class="quiet small breaks">{version}</p>
    </div>
  )
}

function Menu({ current, pathname }: SideProps) {
  const known = about.value
  const offered = known === undefined ? [] : pages.filter((page) => page.isDetail !== true && page.isOffered(known))
  return (
    <nav aria-label="Pages">
      <ul>
        {offered.map(({ path, title, icon }) => (
          <li key={path}>
            <a href={path} aria-current={path !== current ? undefined : path === pathname ? 'page' : 'true'}>
              {icon !== undefined && <Icon name={icon} />}
              {title}
              {icon === 'overview' && <ProblemCount />}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}

/** Wherever the reader is. Notes are no reason to come. */
function ProblemCount() {
  const problems = overview.value?.problems.filter(({ severity }) => severity !== 'note') ?? []
  if (problems.length === 0) return null
  return (
    <span class="badge" data-tone={problems.some(({ severity }) => severity === 'error') ? 'bad' : 'warn'}>
      {problems.length}
      <span class="visually-hidden"> {problems.length === 1 ? 'problem' : 'problems'}</span>
    </span>
  )
}

const themes = { auto: 'System', light: 'Light', dark: 'Dark' }

function Tools() {
  return (
    <div class="tools">
      <button class="button plain" type="button" onClick={nextTheme}>
        <Icon name={theme.value} />
        <span>
          <span class="visually-hidden">Colours: </span>
          {themes[theme.value]}
        </span>
      </button>
      <button class="button plain" type="button" onClick={() => (isHelpOpen.value = true)}>
        <Icon name="help" />
        <span>Keys</span>
      </button>
    </div>
  )
}

/** A rope led through a fairlead. */
function Mark() {
  return (
    <svg class="mark" viewBox="0 0 24 24" width="24" height="24" aria-hidden="true" focusable="false">
      <path class="mark-ring" d="M7 4.5a8.5 8.5 0 0 0 0 15M17 4.5a8.5 8.5 0 0 1 0 15" />
      <path class="mark-rope" d="M1 8c6 0 7 8 11 8s5-8 11-8" />
    </svg>
  )
}
