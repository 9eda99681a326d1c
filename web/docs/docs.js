'use strict';

// The viewer if it is installed; else a plain list of the operations.
const plain = document.getElementById('plain');

function viewer() {
	plain.remove();
	window.SwaggerUIBundle({
		url: '/openapi.json',
		dom_id: '#viewer',
		deepLinking: true,
		docExpansion: 'none',
		filter: true,
		validatorUrl: null,
		defaultModelsExpandDepth: -1,
	});
}

async function list() {
	const answer = await fetch('/openapi.json');
	const paths = (await answer.json()).paths;
	const target = document.getElementById('operations');

	for (const path of Object.keys(paths).sort()) {
		for (const [method, operation] of Object.entries(paths[path])) {
			const item = document.createElement('li');

			item.textContent = `${method.toUpperCase()} ${path}  ${operation.summary || ''}`;
			target.append(item);
		}
	}
}

if (window.SwaggerUIBundle)
	viewer();
else
	list();
