/** One of a few, side by side. */
import type { ComponentChildren } from 'preact'
import '../styles/panel.css'

interface ChoiceProps<Value extends string> {
  readonly legend: string
  /** Of the radio buttons: another one for each choice on a page. */
  readonly name: string
  readonly options: readonly { readonly value: Value; readonly label: ComponentChildren }[]
  readonly value: Value | undefined
  readonly onChoose: (value: Value) => void
}

export function Choice<Value extends string>({ legend, name, options, value, onChoose }: ChoiceProps<Value>) {
  return (
    <fieldset class="choice">
      <legend>{legend}</legend>
      {options.map((option) => (
        <label key={option.value}>
          <input type="radio" name={name} checked={option.value === value} onChange={() => onChoose(option.value)} />
          <span>{option.label}</span>
        </label>
      ))}
    </fieldset>
  )
}
