/** Listens for the shortcuts. A reader whose speech or switch software sends letters by itself can turn them off. */
import { signal } from '@preact/signals'
import type { About } from '../../src/observe/console/wire.ts'
import { about } from '../live/live.ts'
import { pages } from './pages.tsx'
import { go, location } from './route.ts'
import { commandOf } from './shortcuts.ts'
import type { Command, Pressed } from './shortcuts.ts'
import { nextTheme } from './theme.ts'

const place = 'fairlead-shortcuts'
export const isHelpOpen = signal(false)
export const areShortcutsOn = signal(isKeptOn())

export function listenForShortcuts(): void {
  let before: Pressed | undefined
  document.addEventListener('keydown', (event) => {
    const isMeant = !event.defaultPrevented && !event.ctrlKey && !event.metaKey && !event.altKey
    if (!isMeant || !areShortcutsOn.value || isHelpOpen.value || isTypedInto(event.target)) return
    const pressed = { key: event.key, at: event.timeStamp }
    const command = commandOf(pressed, before)
    before = pressed
    if (command !== undefined && obey(command)) event.preventDefault()
  })
}

export function turnShortcuts(isOn: boolean): void {
  areShortcutsOn.value = isOn
  try {
    localStorage.setItem(place, isOn ? 'on' : 'off')
  } catch {
    // Then it holds until the page is closed.
  }
}

function obey(command: Command): boolean {
  switch (command.does) {
    case 'help':
      isHelpOpen.value = true
      return true
    case 'theme':
      nextTheme()
      return true
    case 'search':
      search()
      return true
    case 'go': {
      const page = pages.find(({ letter, isOffered }) => letter === command.letter && isHere(isOffered))
      if (page !== undefined) go(page.path)
      return page !== undefined
    }
    default:
      return command satisfies never
  }
}

function isHere(isOffered: (known: About) => boolean): boolean {
  const known = about.peek()
  return known !== undefined && isOffered(known)
}

function search(): void {
  const field = () => document.querySelector<HTMLInputElement>('main input[type="search"]')
  if (field() === null && location.value.pathname !== '/services') go('/services')
  // A page that was just opened has its field in the next frame.
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      field()?.focus()
      field()?.select()
    }),
  )
}

function isTypedInto(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('input, textarea, select, [contenteditable]') !== null
}

function isKeptOn(): boolean {
  try {
    return localStorage.getItem(place) !== 'off'
  } catch {
    return true
  }
}
