/** A button that makes the demo do something. Whoever points at it sees what it is about to do. */
import { useSignal } from '@preact/signals'
import type { DemoButton } from '../../../src/observe/console/wire.ts'
import { act } from './act.ts'

export interface ActionButtonProps {
  readonly button: DemoButton
  /** What it is done to, for those who do not see where it stands. */
  readonly to?: string
  readonly onPoint: (button: DemoButton) => void
  readonly onProblem: (problem: string | undefined) => void
  readonly isPrimary?: boolean
}

export function ActionButton({ button, to, onPoint, onProblem, isPrimary = false }: ActionButtonProps) {
  const isActing = useSignal(false)
  const press = async () => {
    // A button that is disabled loses the focus, and with it the reader's place; so it only says why it does nothing.
    if (isActing.value || button.whyNot !== undefined) return onProblem(whyNot(button))
    onPoint(button)
    isActing.value = true
    onProblem(await act(button.action))
    isActing.value = false
  }
  return (
    <button
      type="button"
      class={`button demo-button ${isPrimary ? 'primary' : ''}`}
      aria-disabled={button.whyNot !== undefined || isActing.value}
      title={button.whyNot}
      data-kind={button.action.kind}
      onClick={() => void press()}
      onFocus={() => onPoint(button)}
      onPointerEnter={() => onPoint(button)}
    >
      {button.label}
      {to !== undefined && <span class="visually-hidden"> {to}</span>}
    </button>
  )
}

function whyNot({ label, whyNot: why }: DemoButton): string | undefined {
  return why === undefined ? undefined : `${label}: ${why}.`
}
