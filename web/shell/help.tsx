/** What the keyboard does. */
import { useEffect, useRef } from 'preact/hooks'
import { about } from '../live/live.ts'
import { areShortcutsOn, isHelpOpen, turnShortcuts } from './keyboard.ts'
import { pages } from './pages.tsx'

const everywhere = [
  [['/'], 'Search Services'],
  [['t'], 'Change colours: as the system, light, dark'],
  [['?'], 'This help'],
] as const

const inLists = [
  [['↑', '↓'], 'One row'],
  [['Page Up', 'Page Down'], 'A screen of rows'],
  [['Home', 'End'], 'First and last row'],
  [['Enter'], 'Open the row'],
] as const

export function Help() {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    if (isHelpOpen.value) dialog.current?.showModal()
    else dialog.current?.close()
  }, [isHelpOpen.value])
  const known = about.value
  const goes = pages.flatMap(({ letter, title, isOffered }) =>
    letter === undefined || known === undefined || !isOffered(known) ? [] : [[['g', letter], title] as const],
  )
  return (
    <dialog class="help" ref={dialog} aria-labelledby="help-title" onClose={() => (isHelpOpen.value = false)}>
      <form method="dialog">
        <h2 id="help-title">Keys</h2>
        <Keys title="Everywhere" rows={everywhere} />
        <Keys title="Go to" rows={goes} />
        <Keys title="In lists" rows={inLists} />
        <label class="help-switch">
          <input
            type="checkbox"
            checked={areShortcutsOn.value}
            onChange={({ currentTarget }) => turnShortcuts(currentTarget.checked)}
          />
          Keys without Ctrl or Alt do something
        </label>
        <button class="button primary" type="submit">
          Close
        </button>
      </form>
    </dialog>
  )
}

interface KeysProps {
  readonly title: string
  readonly rows: readonly (readonly [keys: readonly string[], does: string])[]
}

function Keys({ title, rows }: KeysProps) {
  return (
    <section>
      <h3>{title}</h3>
      <dl class="keys">
        {rows.map(([keys, does]) => (
          <div key={does}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}
