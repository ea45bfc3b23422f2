/**
 * A YAML editor with errors at their lines.
 *
 * It lives in a shadow root: there CodeMirror adds its styles as a constructed sheet, which the policy of the page
 * allows, and not as a style element, which it blocks.
 */
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { ManifestProblem } from "../api-types";

interface Props {
  value: string;
  problems: readonly ManifestProblem[];
  label: string;
  onChange: (text: string) => void;
}

const THEME = EditorView.theme({
  "&": { fontSize: "13px", color: "var(--text)", backgroundColor: "var(--surface)", height: "100%" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-1px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55", overflow: "auto" },
  ".cm-gutters": { backgroundColor: "var(--sunken)", color: "var(--muted)", border: "none" },
  ".cm-activeLine": { backgroundColor: "var(--active-line)" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--selection) !important" },
  ".cm-tooltip": { backgroundColor: "var(--surface)", color: "var(--text)", border: "1px solid var(--line)" },
});
const COLORS = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--code-key)" },
  { tag: [tags.string, tags.content], color: "var(--code-text)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--code-value)" },
  { tag: [tags.comment, tags.meta], color: "var(--muted)", fontStyle: "italic" },
]);

export function YamlEditor({ value, problems, label, onChange }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const changed = useRef(onChange);
  changed.current = onChange;
  const start = useRef(value);
  useEffect(() => {
    const host = box.current;
    if (!host) return;
    const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
    const editor = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: start.current,
        extensions: [
          lineNumbers(),
          lintGutter(),
          history(),
          drawSelection(),
          highlightSpecialChars(),
          indentOnInput(),
          bracketMatching(),
          highlightActiveLine(),
          indentUnit.of("  "),
          yaml(),
          syntaxHighlighting(COLORS),
          THEME,
          // Tab leaves the editor, so that the keyboard is not caught in it.
          keymap.of([...defaultKeymap, ...historyKeymap, ...lintKeymap]),
          EditorView.contentAttributes.of({ "aria-label": label }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) changed.current(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = editor;
    return () => {
      editor.destroy();
      view.current = null;
    };
  }, [label]);
  // At once: after the next paint it would undo what was typed in between.
  useLayoutEffect(() => {
    const editor = view.current;
    if (!editor || editor.state.doc.toString() === value) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } });
  }, [value]);
  useEffect(() => {
    const editor = view.current;
    if (editor) editor.dispatch(setDiagnostics(editor.state, diagnostics(editor.state, problems)));
  }, [problems]);
  return <div class="editor" ref={box} data-testid="editor" />;
}

const SEVERITIES = { error: "error", warning: "warning", note: "info" } as const;

function diagnostics(state: EditorState, problems: readonly ManifestProblem[]): Diagnostic[] {
  return problems
    .map((problem): Diagnostic => {
      const line = state.doc.line(Math.max(1, Math.min(state.doc.lines, problem.line)));
      const indent = line.text.length - line.text.trimStart().length;
      return {
        from: line.from + indent,
        to: line.to,
        severity: SEVERITIES[problem.severity],
        message: problem.message,
        source: problem.rule,
      };
    })
    .sort((a, b) => a.from - b.from);
}
