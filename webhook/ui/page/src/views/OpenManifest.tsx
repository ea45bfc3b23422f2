/** A manifest of a person's own, or a state that they were sent, is pasted, chosen, or dropped anywhere on the page. */
import { useEffect, useState } from "preact/hooks";

interface Props {
  onManifest: (text: string) => void;
}

export function OpenManifest({ onManifest }: Props) {
  const [text, setText] = useState("");
  return (
    <details class="panel spaced" data-testid="open-manifest">
      <summary>Open a manifest of your own, or a view that you were sent</summary>
      <label class="open-manifest">
        <span class="quiet">
          Paste the YAML of one workload or Pod here, or a link that someone copied, or drop a file anywhere on the
          page, also a view that was saved (HTML): it is then shown of this cluster. Nothing is sent to the cluster.
        </span>
        <textarea
          rows={8}
          spellcheck={false}
          value={text}
          data-testid="pasted"
          onInput={(event) => {
            setText(event.currentTarget.value);
          }}
        />
      </label>
      <div class="toolbar">
        <button
          class="primary"
          disabled={text.trim() === ""}
          data-testid="open-pasted"
          onClick={() => {
            onManifest(text);
          }}
        >
          Open
        </button>
        <input
          type="file"
          accept=".yaml,.yml,.json,.html"
          aria-label="Choose a file"
          data-testid="chosen"
          onChange={(event) => {
            const file = event.currentTarget.files?.[0];
            if (file) void file.text().then(onManifest);
          }}
        />
      </div>
    </details>
  );
}

/** Takes files that are dropped on the page. */
export function useDroppedManifest(onManifest: (text: string) => void): void {
  useEffect(() => {
    const over = (event: DragEvent): void => {
      if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
    };
    const drop = (event: DragEvent): void => {
      const file = event.dataTransfer?.files[0];
      if (!file) return;
      event.preventDefault();
      void file.text().then(onManifest);
    };
    window.addEventListener("dragover", over);
    window.addEventListener("drop", drop);
    return () => {
      window.removeEventListener("dragover", over);
      window.removeEventListener("drop", drop);
    };
  }, [onManifest]);
}
